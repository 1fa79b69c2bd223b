/** The fingerprint of one record's origin: three Feistel rounds on 32-bit halves, as docs/formats.md has it. */
final class Fingerprint {
  private static final int PARTITION_BITS = 12;
  private static final int OFFSET_BITS = 44;
  private static final long LOW_32 = 0xFFFF_FFFFL;

  private Fingerprint() {}

  static long of(long topicNumber, int partition, long offset) {
    long packed = topicNumber << (PARTITION_BITS + OFFSET_BITS) | (long) partition << OFFSET_BITS | offset;
    long left = packed >>> 32;
    long right = packed & LOW_32;
    for (int round = 0; round < 3; round++) {
      long scrambled = scramble(right, round);
      long next = left ^ scrambled;
      left = right;
      right = next;
    }
    return left << 32 | right;
  }

  private static long scramble(long half, int round) {
    long product =
        switch (round) {
          case 0 -> (half ^ 0x9E3779B9L) * 0x7F4A7C15L;
          case 1 -> (half ^ 0x85EBCA6BL) * 0x62B82175L;
          default -> (half ^ 0xC2B2AE35L) * 0x5851F42DL;
        };
    return (product ^ product >>> 31) & LOW_32;
  }
}

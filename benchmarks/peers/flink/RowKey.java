/**
 * Partition, pane and zone in one long, so that the state's key is Flink's own long.
 *
 * <p>Pane and zone lie side by side in the lower half: {@code Long.hashCode} keeps them apart.
 */
final class RowKey {
  private static final int ZONE_BITS = 9;
  private static final int PANE_BITS = 43;
  private static final int PARTITION_BITS = 12;

  private RowKey() {}

  /** {@code pane}: the window's start / its length; {@code zone}: -1 for none. Raises ArithmeticException. */
  static long of(int partition, long pane, int zone) {
    return fitting(partition, PARTITION_BITS) << PANE_BITS + ZONE_BITS
        | fitting(pane, PANE_BITS) << ZONE_BITS
        | fitting(zone + 1, ZONE_BITS);
  }

  static int partition(long key) {
    return (int) (key >>> PANE_BITS + ZONE_BITS);
  }

  static long pane(long key) {
    return key >>> ZONE_BITS & (1L << PANE_BITS) - 1;
  }

  static int zone(long key) {
    return (int) (key & (1 << ZONE_BITS) - 1) - 1;
  }

  private static long fitting(long part, int bits) {
    if (part >>> bits != 0) {
      throw new ArithmeticException(part + " has no room in the " + bits + " bits that a row's key has for it");
    }
    return part;
  }
}

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** A row of the table as twelve big-endian longs, changed in place; nothing is serialized a second time. */
final class Row {
  private static final int CELLS = 12;
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
  /** Where the cells of each nullable measure begin: its value, then how many values it saw. */
  private static final int FARE = 2, TIP = 4, DISTANCE = 6, LONGEST = 8, DEAREST = 10;

  private Row() {}

  static byte[] key(long windowStartUs, int zone) {
    return ByteBuffer.allocate(12).putLong(windowStartUs).putInt(zone).array();
  }

  /** The row with one more ride; {@code before} is null for a new one, and stays as it is. */
  static byte[] with(byte[] before, Ride ride, long fingerprint) {
    byte[] row = before == null ? empty() : before.clone();
    fold(row, ride, fingerprint);
    return row;
  }

  /** Puts one more ride into a row that is the caller's own. */
  static void fold(byte[] row, Ride ride, long fingerprint) {
    add(row, 0, 1);
    add(row, 1, fingerprint);
    sum(row, FARE, ride.fareCents());
    sum(row, TIP, ride.tipCents());
    sum(row, DISTANCE, ride.distance());
    max(row, LONGEST, ride.durationUs());
    max(row, DEAREST, ride.fareCents());
  }

  static byte[] empty() {
    byte[] row = new byte[CELLS * Long.BYTES];
    LONG.set(row, LONGEST * Long.BYTES, Long.MIN_VALUE);
    LONG.set(row, DEAREST * Long.BYTES, Long.MIN_VALUE);
    return row;
  }

  private static void sum(byte[] row, int cell, Long value) {
    if (value != null) {
      add(row, cell, value);
      add(row, cell + 1, 1);
    }
  }

  private static void max(byte[] row, int cell, Long value) {
    if (value != null) {
      int at = cell * Long.BYTES;
      LONG.set(row, at, Math.max((long) LONG.get(row, at), value));
      add(row, cell + 1, 1);
    }
  }

  private static void add(byte[] row, int cell, long value) {
    int at = cell * Long.BYTES;
    LONG.set(row, at, (long) LONG.get(row, at) + value);
  }
}

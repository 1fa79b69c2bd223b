/** A row as it is at a checkpoint; {@code cells} goes on being folded into once the row was handed over. */
record ChangedRow(long key, byte[] cells) {}

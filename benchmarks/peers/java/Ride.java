/** What the view reads of a ride; nullable fields are boxed. */
record Ride(
    long pickupAtUs, Long dropoffAtUs, Long pickupZone, Long distance, Long fareCents, Long tipCents) {
  private static final int NO_ZONE = -1;

  /** Of the pick-up, as it stands in a row's key. */
  int zone() {
    return pickupZone == null ? NO_ZONE : pickupZone.intValue();
  }

  /** Drop-off, or pick-up where there is none: drives the stream's time. */
  long reportedAtUs() {
    return dropoffAtUs == null ? pickupAtUs : dropoffAtUs;
  }

  Long durationUs() {
    return dropoffAtUs == null ? null : dropoffAtUs - pickupAtUs;
  }
}

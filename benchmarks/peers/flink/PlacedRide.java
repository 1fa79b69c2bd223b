/** A ride, and where it lies in the topic. */
record PlacedRide(Ride ride, int partition, long offset) {}

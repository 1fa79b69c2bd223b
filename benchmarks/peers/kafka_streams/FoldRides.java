import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;
import org.apache.kafka.streams.state.KeyValueStore;

/** Folds rides into rows by pick-up zone and pane; a ride whose window has ended, grace included, is left out. */
final class FoldRides extends ContextualProcessor<byte[], Ride, Void, Void> {
  static final String STORE = "rows";
  private static volatile boolean told;

  private final Job job;
  private final long paneUs;
  private final long graceUs;
  private KeyValueStore<Bytes, byte[]> rows;

  FoldRides(Job job) {
    this.job = job;
    paneUs = job.paneUs();
    graceUs = job.graceUs();
  }

  @Override
  public void init(ProcessorContext<Void, Void> context) {
    super.init(context);
    rows = context.getStateStore(STORE);
  }

  @Override
  public void process(Record<byte[], Ride> record) {
    if (!told) {
      told = true;
      System.out.printf("BENCH first_record %.6f%n", System.currentTimeMillis() / 1e3);
    }
    RecordMetadata at = context().recordMetadata().orElseThrow();
    Ride ride = record.value();
    long start = Math.floorDiv(ride.pickupAtUs(), paneUs) * paneUs;
    if (start + paneUs + graceUs > context().currentStreamTimeMs() * 1_000) {
      Bytes key = Bytes.wrap(Row.key(start, ride.zone()));
      long fingerprint = Fingerprint.of(job.topicNumber(), at.partition(), at.offset());
      rows.put(key, Row.with(rows.get(key), ride, fingerprint));
    }
    if (at.offset() + 1 == job.ends().get(at.partition())) {
      context().commit(); // do not wait for the interval when there is nothing more to read
    }
  }
}

import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/**
 * Folds rides into rows; a ride whose window has ended, grace included, is left out.
 *
 * <p>What changed since the last checkpoint is handed on right before the next one's barrier, each row once, as
 * Flink SQL's mini-batches do. So it takes part in that checkpoint, the sink's transaction included.
 */
final class FoldRides extends AbstractStreamOperator<ChangedRow>
    implements OneInputStreamOperator<PlacedRide, ChangedRow> {
  private static final long serialVersionUID = 1;

  private final long topicNumber;
  private final long paneUs;
  private final long graceUs;

  private transient ValueState<byte[]> rows;
  private transient ListState<Tuple2<Integer, Long>> watermarks;
  private transient Map<Integer, Long> watermarkUs;
  private transient Map<Long, byte[]> changed;
  private transient boolean told;

  FoldRides(Job job) {
    topicNumber = job.topicNumber();
    paneUs = job.paneUs();
    graceUs = job.graceUs();
  }

  @Override
  public void initializeState(StateInitializationContext context) throws Exception {
    rows =
        context
            .getKeyedStateStore()
            .getState(new ValueStateDescriptor<>("rows", PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO));
    watermarks =
        context
            .getOperatorStateStore()
            .getUnionListState(new ListStateDescriptor<>("watermarks", Types.TUPLE(Types.INT, Types.LONG)));
    changed = new HashMap<>();
    watermarkUs = new HashMap<>();
    for (Tuple2<Integer, Long> one : watermarks.get()) {
      watermarkUs.merge(one.f0, one.f1, Math::max);
    }
  }

  /** The key is set here, once for each row between two checkpoints, not for each ride. */
  @Override
  public boolean hasKeyContext1() {
    return false;
  }

  @Override
  public void processElement(StreamRecord<PlacedRide> element) throws Exception {
    if (!told) {
      told = true;
      System.out.printf("BENCH first_record %.6f%n", System.currentTimeMillis() / 1e3);
    }
    PlacedRide placed = element.getValue();
    Ride ride = placed.ride();
    long watermark = watermarkUs.merge(placed.partition(), ride.reportedAtUs(), Math::max);
    long pane = Math.floorDiv(ride.pickupAtUs(), paneUs);
    if ((pane + 1) * paneUs + graceUs > watermark) {
      byte[] row = own(RowKey.of(placed.partition(), pane, ride.zone()));
      Row.fold(row, ride, Fingerprint.of(topicNumber, placed.partition(), placed.offset()));
    }
  }

  /** The row to fold into: of the state, which copies it if a checkpoint is still being written. */
  private byte[] own(Long key) throws Exception {
    byte[] row = changed.get(key);
    if (row == null) {
      setCurrentKey(key);
      row = rows.value();
      if (row == null) {
        row = Row.empty();
        rows.update(row);
      }
      changed.put(key, row);
    }
    return row;
  }

  @Override
  public void prepareSnapshotPreBarrier(long checkpoint) {
    handOn();
  }

  @Override
  public void finish() {
    handOn();
  }

  private void handOn() {
    changed.forEach((key, row) -> output.collect(new StreamRecord<>(new ChangedRow(key, row))));
    changed.clear();
  }

  @Override
  public void snapshotState(StateSnapshotContext context) throws Exception {
    super.snapshotState(context);
    watermarks.clear();
    for (Map.Entry<Integer, Long> one : watermarkUs.entrySet()) {
      watermarks.add(Tuple2.of(one.getKey(), one.getValue()));
    }
  }
}

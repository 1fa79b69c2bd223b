import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.util.Collector;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** Records of the topic to rides, in the task's own thread. */
final class ReadRides implements KafkaRecordDeserializationSchema<PlacedRide> {
  private static final long serialVersionUID = 1;

  private final String schema;
  private transient RideDeserializer rides;

  ReadRides(String schema) {
    this.schema = schema;
  }

  @Override
  public void open(DeserializationSchema.InitializationContext context) {
    rides = new RideDeserializer(schema);
  }

  @Override
  public void deserialize(ConsumerRecord<byte[], byte[]> record, Collector<PlacedRide> out) {
    Ride ride = rides.deserialize(record.topic(), record.value());
    out.collect(new PlacedRide(ride, record.partition(), record.offset()));
  }

  @Override
  public TypeInformation<PlacedRide> getProducedType() {
    return TypeInformation.of(PlacedRide.class);
  }
}

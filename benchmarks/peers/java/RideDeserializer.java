import java.io.IOException;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Deserializer;

/**
 * Avro in the Confluent framing. The reader's schema has only the fields that are needed, so that Avro skips the
 * others; record and decoder are used again and again.
 */
final class RideDeserializer implements Deserializer<Ride> {
  private static final int FRAMING = 5;
  private static final List<String> FIELDS =
      List.of("pickup_at_us", "dropoff_at_us", "pickup_zone", "distance_hundredth_miles", "fare_cents", "tip_cents");

  private final GenericDatumReader<GenericRecord> reader;
  private final GenericData.Record record;
  private BinaryDecoder decoder;

  RideDeserializer(String schemaText) {
    Schema writer = new Schema.Parser().parse(schemaText);
    List<Schema.Field> fields =
        FIELDS.stream().map(name -> new Schema.Field(writer.getField(name), writer.getField(name).schema())).toList();
    Schema wanted = Schema.createRecord(writer.getName(), writer.getDoc(), writer.getNamespace(), false, fields);
    GenericData data = new GenericData();
    data.setFastReaderEnabled(true);
    reader = new GenericDatumReader<>(writer, wanted, data);
    record = new GenericData.Record(wanted);
  }

  @Override
  public Ride deserialize(String topic, byte[] value) {
    if (value == null || value.length <= FRAMING || value[0] != 0) {
      throw new SerializationException("not in the Confluent framing");
    }
    decoder = DecoderFactory.get().binaryDecoder(value, FRAMING, value.length - FRAMING, decoder);
    try {
      reader.read(record, decoder);
    } catch (IOException error) {
      throw new SerializationException(error);
    }
    return new Ride(
        (Long) record.get(0),
        (Long) record.get(1),
        (Long) record.get(2),
        (Long) record.get(3),
        (Long) record.get(4),
        (Long) record.get(5));
  }
}

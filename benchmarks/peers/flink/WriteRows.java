import java.util.List;
import java.util.Optional;
import org.apache.flink.connector.kafka.lineage.DefaultKafkaDatasetFacet;
import org.apache.flink.connector.kafka.lineage.DefaultKafkaDatasetIdentifier;
import org.apache.flink.connector.kafka.lineage.KafkaDatasetFacet;
import org.apache.flink.connector.kafka.lineage.KafkaDatasetFacetProvider;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.kafka.clients.producer.ProducerRecord;

/** Changed rows to records of the changelog, each in the partition of its rides. */
final class WriteRows implements KafkaRecordSerializationSchema<ChangedRow>, KafkaDatasetFacetProvider {
  private static final long serialVersionUID = 1;

  private final String topic;
  private final long paneUs;

  WriteRows(String topic, long paneUs) {
    this.topic = topic;
    this.paneUs = paneUs;
  }

  @Override
  public ProducerRecord<byte[], byte[]> serialize(ChangedRow row, KafkaSinkContext context, Long timestamp) {
    byte[] key = Row.key(RowKey.pane(row.key()) * paneUs, RowKey.zone(row.key()));
    return new ProducerRecord<>(topic, RowKey.partition(row.key()), key, row.cells());
  }

  /** The sink looks for transactions left open on this topic. */
  @Override
  public Optional<KafkaDatasetFacet> getKafkaDatasetFacet() {
    return Optional.of(new DefaultKafkaDatasetFacet(DefaultKafkaDatasetIdentifier.ofTopics(List.of(topic))));
  }
}

import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ExecutionOptions;
import org.apache.flink.configuration.JobManagerOptions;
import org.apache.flink.configuration.PipelineOptions;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.StateBackendOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.sink.TransactionNamingStrategy;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamUtils;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.TopicPartition;

/** Flink in one process with one slot: reads to the given ends, with checkpoints on the way and a last one. */
public final class Main {
  private static final int MEGABYTE = 1 << 20;
  private static final String LOOPBACK = "localhost";

  private Main() {}

  public static void main(String[] arguments) throws Exception {
    Job job = Job.read(arguments[0]);
    StreamExecutionEnvironment flink = StreamExecutionEnvironment.createLocalEnvironment(1, settings(job));
    // The key holds the partition, and one task reads them all: nothing need be sent to another one.
    DataStream<PlacedRide> rides =
        flink.fromSource(source(job), WatermarkStrategy.noWatermarks(), "rides");
    long paneUs = job.paneUs();
    DataStreamUtils.reinterpretAsKeyedStream(
            rides,
            one -> RowKey.of(one.partition(), Math.floorDiv(one.ride().pickupAtUs(), paneUs), one.ride().zone()),
            Types.LONG)
        .transform("fold", TypeInformation.of(ChangedRow.class), new FoldRides(job))
        .sinkTo(sink(job));
    flink.execute(job.name());
    System.out.printf("BENCH last_commit %.6f%n", System.currentTimeMillis() / 1e3);
  }

  static KafkaSource<PlacedRide> source(Job job) {
    Map<TopicPartition, Long> ends =
        job.ends().entrySet().stream()
            .collect(Collectors.toMap(end -> new TopicPartition(job.topic(), end.getKey()), Map.Entry::getValue));
    return KafkaSource.<PlacedRide>builder()
        .setBootstrapServers(job.bootstrapServer())
        .setTopics(job.topic())
        .setGroupId(job.name())
        .setStartingOffsets(OffsetsInitializer.earliest())
        .setBounded(OffsetsInitializer.offsets(ends))
        .setDeserializer(new ReadRides(job.schema()))
        .setProperty(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, "10000")
        .setProperty(ConsumerConfig.FETCH_MIN_BYTES_CONFIG, "100000")
        .setProperty(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, "30")
        .build();
  }

  static KafkaSink<ChangedRow> sink(Job job) {
    Properties producer = new Properties();
    producer.put(ProducerConfig.BATCH_SIZE_CONFIG, 512 * 1024);
    producer.put(ProducerConfig.BUFFER_MEMORY_CONFIG, 128 * MEGABYTE);
    producer.put(ProducerConfig.COMPRESSION_TYPE_CONFIG, "zstd");
    producer.put(ProducerConfig.LINGER_MS_CONFIG, 100);
    // A transaction is open from one checkpoint to the next; the broker allows 15 minutes.
    producer.put(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG, (int) Duration.ofMinutes(10).toMillis());
    return KafkaSink.<ChangedRow>builder()
        .setBootstrapServers(job.bootstrapServer())
        .setKafkaProducerConfig(producer)
        .setRecordSerializer(new WriteRows(job.name() + "-rows", job.paneUs()))
        .setDeliveryGuarantee(DeliveryGuarantee.valueOf(job.variant().guarantee().toUpperCase(Locale.ROOT)))
        .setTransactionalIdPrefix(job.name())
        .setTransactionNamingStrategy(TransactionNamingStrategy.POOLING)
        .build();
  }

  static Configuration settings(Job job) {
    Configuration settings = new Configuration();
    settings.set(ExecutionOptions.RUNTIME_MODE, RuntimeExecutionMode.STREAMING);
    settings.set(PipelineOptions.OBJECT_REUSE, true);
    settings.set(PipelineOptions.AUTO_WATERMARK_INTERVAL, Duration.ZERO);
    settings.set(StateBackendOptions.STATE_BACKEND, job.variant().store());
    settings.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofMillis(job.variant().commitMs()));
    settings.set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, Path.of(job.stateDir()).toUri().toString());
    settings.set(CheckpointingOptions.FS_WRITE_BUFFER_SIZE, MEGABYTE);
    settings.set(RestartStrategyOptions.RESTART_STRATEGY, "none");
    settings.set(JobManagerOptions.BIND_HOST, LOOPBACK);
    settings.set(TaskManagerOptions.BIND_HOST, LOOPBACK);
    settings.set(RestOptions.BIND_ADDRESS, LOOPBACK);
    settings.set(RestOptions.BIND_PORT, "0");
    if (job.settings() != null) {
      job.settings().forEach((name, value) -> settings.setString(name, value.toString()));
    }
    return settings;
  }
}

import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.AutoOffsetReset;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.Stores;

/** One Kafka Streams instance with one thread, from the topic's begin until it is told to stop. */
public final class Main {
  private static final long MEGABYTE = 1 << 20;

  private Main() {}

  public static void main(String[] arguments) throws Exception {
    Job job = Job.read(arguments[0]);
    CountDownLatch stopped = new CountDownLatch(1);
    KafkaStreams streams = new KafkaStreams(topology(job), settings(job));
    streams.setUncaughtExceptionHandler(
        error -> {
          error.printStackTrace();
          return StreamThreadExceptionResponse.SHUTDOWN_APPLICATION;
        });
    streams.setStateListener(
        (now, before) -> {
          if (now == KafkaStreams.State.ERROR) {
            Runtime.getRuntime().halt(1);
          }
        });
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  streams.close(Duration.ofSeconds(10));
                  stopped.countDown();
                }));
    streams.start();
    stopped.await();
  }

  /** Source, fold, store: a task holds the rows of its own partition, so nothing is sent through another topic. */
  static Topology topology(Job job) {
    KeyValueBytesStoreSupplier store =
        job.variant().store().equals("memory")
            ? Stores.inMemoryKeyValueStore(FoldRides.STORE)
            : Stores.persistentKeyValueStore(FoldRides.STORE);
    return new Topology()
        .addSource(
            AutoOffsetReset.earliest(),
            "rides",
            (record, partitionTime) -> ((Ride) record.value()).reportedAtUs() / 1_000,
            Serdes.ByteArray().deserializer(),
            new RideDeserializer(job.schema()),
            job.topic())
        .addProcessor("fold", () -> new FoldRides(job), "rides")
        .addStateStore(
            Stores.keyValueStoreBuilder(store, Serdes.Bytes(), Serdes.ByteArray())
                .withCachingEnabled()
                .withLoggingEnabled(Map.of()),
            "fold");
  }

  static Properties settings(Job job) {
    Properties settings = new Properties();
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, job.name());
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, job.bootstrapServer());
    settings.put(StreamsConfig.STATE_DIR_CONFIG, job.stateDir());
    settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, job.variant().guarantee());
    settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, job.variant().commitMs());
    settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
    settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 512 * MEGABYTE);
    settings.put(StreamsConfig.BUFFERED_RECORDS_PER_PARTITION_CONFIG, 20_000);
    settings.put(StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, RoomyRocksDb.class);
    settings.put(StreamsConfig.ENABLE_METRICS_PUSH_CONFIG, false);
    settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.MAX_POLL_RECORDS_CONFIG), 10_000);
    settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.FETCH_MIN_BYTES_CONFIG), 100_000);
    settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG), 30);
    settings.put(StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), 512 * 1024);
    settings.put(StreamsConfig.producerPrefix(ProducerConfig.BUFFER_MEMORY_CONFIG), 128 * MEGABYTE);
    settings.put(StreamsConfig.producerPrefix(ProducerConfig.COMPRESSION_TYPE_CONFIG), "zstd");
    if (job.settings() != null) {
      settings.putAll(job.settings());
    }
    return settings;
  }
}

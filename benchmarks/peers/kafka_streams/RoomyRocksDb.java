import java.util.Map;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;

/** More memory for RocksDB than it has by default, so that most rows are found without reading a file. */
public final class RoomyRocksDb implements RocksDBConfigSetter {
  private static final long MEGABYTE = 1 << 20;
  private final LRUCache cache = new LRUCache(256 * MEGABYTE);

  @Override
  public void setConfig(String storeName, Options options, Map<String, Object> configs) {
    BlockBasedTableConfig table = (BlockBasedTableConfig) options.tableFormatConfig();
    table.setBlockCache(cache);
    options.setTableFormatConfig(table);
    options.setWriteBufferSize(64 * MEGABYTE);
    options.setMaxWriteBufferNumber(3);
  }

  @Override
  public void close(String storeName, Options options) {
    cache.close();
  }
}

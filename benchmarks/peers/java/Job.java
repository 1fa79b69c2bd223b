import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.util.Map;

/** What is to be read, how far, and with which guarantee; written by the harness. */
@JsonIgnoreProperties(ignoreUnknown = true)
record Job(
    @JsonProperty("bootstrap_server") String bootstrapServer,
    @JsonProperty("name") String name,
    @JsonProperty("topic") String topic,
    @JsonProperty("topic_number") long topicNumber,
    @JsonProperty("ends") Map<Integer, Long> ends,
    @JsonProperty("pane_seconds") long paneSeconds,
    @JsonProperty("grace_seconds") long graceSeconds,
    @JsonProperty("schema") String schema,
    @JsonProperty("state_dir") String stateDir,
    @JsonProperty("variant") Variant variant,
    @JsonProperty("settings") Map<String, Object> settings) {

  /** How the program keeps its rows, and how surely and often it commits them; the first two in its own words. */
  record Variant(
      @JsonProperty("store") String store,
      @JsonProperty("guarantee") String guarantee,
      @JsonProperty("commit_ms") long commitMs) {}

  long paneUs() {
    return paneSeconds * 1_000_000;
  }

  long graceUs() {
    return graceSeconds * 1_000_000;
  }

  static Job read(String path) throws IOException {
    return new ObjectMapper().readValue(new File(path), Job.class);
  }
}

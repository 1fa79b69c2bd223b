"""What Kafka Connect is told, and whether what it wrote is what was published."""

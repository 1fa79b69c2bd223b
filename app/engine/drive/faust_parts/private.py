"""Every private name of aiokafka, Faust and mode that the engine uses, and every body of theirs that it stands on.

Data only. tests/unit/drive/faust_parts/test_private_names.py holds the installed versions, and the code of the drive,
to it: an upgrade that changes one of these fails there, in words. How to go about one:
docs/decisions/0009-private-names.md.
"""

from __future__ import annotations

from dataclasses import dataclass

VERSIONS = {"aiokafka": "0.14.0", "faust-streaming": "0.15.3", "mode-streaming": "0.7.1"}
"""What this list was written from."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A private attribute that objects of `owner`, a class or a module, have."""

    owner: str
    name: str
    used_for: str


@dataclass(frozen=True, slots=True)
class Method:
    """A method or function that is called, overridden or replaced. `parameters`: their names, `self` left out."""

    owner: str
    name: str
    parameters: tuple[str, ...]
    used_for: str


@dataclass(frozen=True, slots=True)
class Body:
    """Code that ours replaces or relies upon in its details; `digest`: first 16 digits of its source's SHA-256."""

    path: str
    digest: str
    held_against: str


_FETCHER = "aiokafka.consumer.fetcher"
_SENDER = "aiokafka.producer.sender"
_TRANSACTIONS = "aiokafka.producer.transaction_manager.TransactionManager"
_CONSUMER = "aiokafka.consumer.consumer.AIOKafkaConsumer"
_COORDINATOR = "aiokafka.consumer.group_coordinator.GroupCoordinator"
_DRIVER = "faust.transport.drivers.aiokafka"
_BASE_CONSUMER = "faust.transport.consumer.Consumer"
_RECOVERY = "faust.tables.recovery.Recovery"

ATTRIBUTES = (
    Attribute(f"{_FETCHER}.Fetcher", "_records", "what was fetched and not yet handed on, by partition"),
    Attribute(f"{_FETCHER}.Fetcher", "_subscriptions", "assignment, and the context that a fetch must be made in"),
    Attribute(f"{_FETCHER}.Fetcher", "_closed", "a closed fetcher gives nothing"),
    Attribute(f"{_FETCHER}.Fetcher", "_fetch_min_bytes", "a quiet worker waits for one record"),
    Attribute(f"{_FETCHER}.Fetcher", "_fetch_max_wait_ms", "and longer"),
    Attribute(f"{_FETCHER}.Fetcher", "_wait_consume_future", "wakes the fetch routine when room was made"),
    Attribute(f"{_FETCHER}.FetchResult", "_partition_records", "the record batches of a fetch"),
    Attribute(f"{_FETCHER}.PartitionRecords", "_records", "the record batches themselves"),
    Attribute(f"{_FETCHER}.PartitionRecords", "_records_iterator", "a cycle of references, broken"),
    Attribute(f"{_FETCHER}.PartitionRecords", "_check_crcs", "whether checksums are asked for"),
    Attribute(f"{_FETCHER}.PartitionRecords", "_isolation_level", "whether aborted records are left out"),
    Attribute(f"{_FETCHER}.PartitionRecords", "_aborted_transactions", "whether a fetch holds any"),
    Attribute(f"{_FETCHER}.PartitionRecords", "_aborted_producers", "whose records are aborted at this offset"),
    Attribute(_CONSUMER, "_fetcher", "drained by column"),
    Attribute(_CONSUMER, "_coordinator", "asked for a heartbeat, and listened to for its answers"),
    Attribute(_CONSUMER, "_client", "begins with a broker, and closes at once"),
    Attribute("aiokafka.client.AIOKafkaClient", "_conns", "let go of where no broker was told of, and at the end"),
    Attribute("aiokafka.conn.AIOKafkaConnection", "_writer", "cut off, without TLS' farewell"),
    Attribute(_COORDINATOR, "_coordination_task", "its end is this member's; Faust would wait for ever"),
    Attribute(_COORDINATOR, "_group_instance_id", "a member that was refused leaves its group"),
    Attribute(_CONSUMER, "_subscription", "last stable offsets, as fetches told them"),
    Attribute(_CONSUMER, "_closed", "a closed consumer gives nothing"),
    Attribute(_CONSUMER, "_fetch_min_bytes", "Faust has no setting for it"),
    Attribute(_CONSUMER, "_fetch_max_wait_ms", "Faust hard-codes 1500"),
    Attribute(_CONSUMER, "_isolation_level", "Faust reads uncommitted records"),
    Attribute("aiokafka.producer.producer.AIOKafkaProducer", "_closed", "gives up a producer whose broker is silent"),
    Attribute("aiokafka.producer.producer.AIOKafkaProducer", "_sender", "whose task says how a producer has ended"),
    Attribute("aiokafka.producer.producer.AIOKafkaProducer", "_txn_manager", "has the future of the transaction's end"),
    Attribute("aiokafka.producer.producer.AIOKafkaProducer", "_message_accumulator", "has the batches not sent"),
    Attribute("aiokafka.producer.message_accumulator.MessageAccumulator", "_batches", "the batches not sent"),
    Attribute("aiokafka.producer.message_accumulator.MessageBatch", "_drain_waiter", "is told why a batch is not sent"),
    Attribute(_SENDER, "BACKOFF_OVERRIDE", "20 ms between transactions, made 2"),
    Attribute(f"{_SENDER}.Sender", "_in_flight", "brokers that are asked, as its own requests note them"),
    Attribute(f"{_SENDER}.Sender", "_muted_partitions", "partitions with a batch under way"),
    Attribute(f"{_SENDER}.Sender", "_request_timeout_ms", "how long a broker may wait for its copies"),
    Attribute(f"{_SENDER}.BaseHandler", "_sender", "whose transactions a request is about"),
    Attribute(f"{_SENDER}.SendProduceReqHandler", "_batches", "what a request holds"),
    Attribute(f"{_SENDER}.EndTxnHandler", "_commit_result", "whether a transaction is committed"),
    Attribute(_TRANSACTIONS, "_txn_partitions", "partitions that have joined by what was produced to them"),
    Attribute(_TRANSACTIONS, "_pid_and_epoch", "the epoch of the next transaction"),
    Attribute(_TRANSACTIONS, "_sequence_numbers", "begin anew with it"),
    Attribute(_FETCHER, "MemoryRecords", "replaced by one that keeps the fetched bytes"),
    Attribute(f"{_DRIVER}.AIOKafkaConsumerThread", "_consumer", "the aiokafka consumer in Faust's thread"),
    Attribute("faust.transport.consumer.ThreadDelegateConsumer", "_thread", "the consumer's thread"),
    Attribute(_BASE_CONSUMER, "_buffered_partitions", "partitions held back because their task has enough to do"),
    Attribute(_BASE_CONSUMER, "_acked", "offsets acknowledged and not committed"),
    Attribute(_BASE_CONSUMER, "_acked_index", "the same as a set"),
)

METHODS = (
    Method(f"{_SENDER}.Sender", "_send_produce_req", ("node_id", "batches"), "by Kafka 4's protocol"),
    Method(f"{_SENDER}.Sender", "_do_txn_commit", ("commit_result",), "by Kafka 4's protocol"),
    Method(f"{_SENDER}.Sender", "_find_coordinator", ("coordinator_type", "coordinator_key"), "ends transactions"),
    Method(f"{_FETCHER}.Fetcher", "_create_fetch_waiter", (), "waits for the next fetch"),
    Method(f"{_FETCHER}.Fetcher", "_notify", ("future",), "wakes the fetch routine"),
    Method(f"{_FETCHER}.FetchResult", "_update_position", (), "moves the consumer behind what was handed on"),
    Method(f"{_FETCHER}.PartitionRecords", "_consume_aborted_up_to", ("batch_offset",), "aborted transactions"),
    Method(f"{_FETCHER}.PartitionRecords", "_contains_abort_marker", ("next_batch",), "aborted transactions"),
    Method(_COORDINATOR, "_do_heartbeat", (), "an accepted heartbeat before a take-over; wrapped to note the others"),
    Method(_COORDINATOR, "_do_commit_offsets", ("assignment", "offsets"), "passes over a topic that is gone"),
    Method("aiokafka.client.AIOKafkaClient", "_get_conn", ("node_id", "group", "no_hint"), "tells who waits of an end"),
    Method(f"{_DRIVER}.AIOKafkaConsumerThread", "_create_worker_consumer", ("transport",), "settings of the consumer"),
    Method(
        f"{_DRIVER}.AIOKafkaConsumerThread",
        "_fetch_records",
        ("consumer", "active_partitions", "timeout", "max_records"),
        "drains by column",
    ),
    Method(
        "aiokafka.producer.message_accumulator.BatchBuilder",
        "_set_producer_state",
        ("producer_id", "producer_epoch", "base_sequence"),
        "our batches, made of columns, are told it in its place",
    ),
    Method("aiokafka.producer.message_accumulator.BatchBuilder", "_build", (), "asked of our batches in its place"),
    Method(f"{_DRIVER}.AIOKafkaConsumerThread", "on_start", (), "listens to heartbeats"),
    Method(f"{_DRIVER}.Consumer", "_new_consumer_thread", (), "our thread"),
    Method(f"{_DRIVER}.Consumer", "_to_message", ("tp", "record"), "a batch as one message"),
    Method(_BASE_CONSUMER, "_getmany", ("active_partitions", "timeout"), "looks sooner at what was held back"),
    Method(_BASE_CONSUMER, "_wait_next_records", ("timeout",), "does not sleep a second when all is held back"),
    Method(_BASE_CONSUMER, "_get_active_partitions", (), "whether all is held back"),
    Method(_BASE_CONSUMER, "_new_offset", ("tp",), "the offset to commit, for lag monitors"),
    Method(_BASE_CONSUMER, "_add_gap", ("tp", "offset_from", "offset_to"), "no book-keeping of gaps"),
    Method(f"{_DRIVER}.Consumer", "verify_event_path", ("now", "tp"), "no false alarms about slow streams"),
    Method(_BASE_CONSUMER, "on_partitions_revoked", ("revoked",), "quiesces tasks first"),
    Method(_BASE_CONSUMER, "commit_and_end_transactions", (), "not after a crash"),
    Method(f"{_DRIVER}.AIOKafkaConsumerThread", "seek_to_committed", (), "not where markers tell the place"),
    Method(f"{_DRIVER}.Consumer", "seek_to_committed", (), "not where markers tell the place"),
    Method(_BASE_CONSUMER, "perform_seek", (), "positions come from markers"),
    Method(_RECOVERY, "_build_highwaters", ("consumer", "tps", "destination", "title"), "where tasks are taken over"),
    Method(_RECOVERY, "_build_offsets", ("consumer", "tps", "destination", "title"), "nothing to be replayed"),
    Method(_RECOVERY, "_seek_offsets", ("consumer", "tps", "offsets", "title"), "nothing to be replayed"),
    Method(_RECOVERY, "_wait", ("coro", "timeout"), "without the time limit after which it ends for good"),
    Method(
        "faust.assignor.partition_assignor.PartitionAssignor", "on_assignment", ("assignment",), "refuses a false name"
    ),
    Method("faust.assignor.partition_assignor.PartitionAssignor", "_decompress", ("compressed",), "whose it is"),
    Method("faust.tables.manager.TableManager", "recovery", (), "our recovery"),
    Method("faust.tables.manager.TableManager", "on_start", (), "does not wait a second for tables yet to come"),
    Method("faust.tables.manager.TableManager", "_update_channels", (), "the tables are there"),
    Method("faust.tables.base.Collection", "_new_store", (), "a store that holds nothing"),
    Method("faust.app.base.App", "_new_transport", (), "our transport"),
    Method("faust.app.base.App", "on_start", (), "services and checks before the group is joined"),
    Method("faust.topics.Topic", "get_topic_name", (), "a name for several topics"),
    Method("faust.tables.base.Collection", "on_stop", (), "quiesces tasks"),
    Method("mode.services.Service", "_crash", ("reason",), "bounds the time to end, however it crashes"),
    Method("mode.threads.ServiceThread", "_stopped_set", (), "a thread that has crashed is not told to stop"),
    Method("mode.worker.Worker", "_schedule_shutdown", ("signal",), "bounds the time to stop"),
    Method("mode.worker.Worker", "_sentinel_task", (), "does not sleep a second before the loop is closed"),
    Method("mode.worker.Worker", "execute_from_commandline", (), "the exit code of a stall, and no exit handlers"),
    Method("faust.worker.Worker", "on_setup_root_logger", ("logger", "level"), "our logging"),
)

BODIES = (
    Body(f"{_FETCHER}.Fetcher.fetched_records", "be4348896b9b66af", "fetch.drain"),
    Body(f"{_FETCHER}.FetchResult.getall", "3e717e30de5068d5", "fetch"),
    Body(f"{_FETCHER}.PartitionRecords._unpack_records", "b803e6d46480732c", "fetch"),
    Body(f"{_FETCHER}.PartitionRecords._consume_aborted_up_to", "56876530cd6412f3", "fetch"),
    Body(f"{_SENDER}.Sender._send_produce_req", "aea01ae4b6c794cc", "transactions/epochs.py"),
    Body(f"{_SENDER}.Sender._do_txn_commit", "8263eaebb7c30ea1", "transactions/epochs.py"),
    Body(f"{_SENDER}.SendProduceReqHandler.create_request", "807639a952058369", "transactions/epochs.py"),
    Body(f"{_SENDER}.SendProduceReqHandler.handle_response", "850323cc8f77abc3", "transactions/epochs.py"),
    Body(f"{_SENDER}.EndTxnHandler.create_request", "64cc61237ba8e7be", "transactions/epochs.py"),
    Body(f"{_SENDER}.EndTxnHandler.handle_response", "89bd9721c28ec792", "transactions/epochs.py"),
    Body("aiokafka.client.AIOKafkaClient.bootstrap", "198943b004e55849", "prepared"),
    Body("aiokafka.client.AIOKafkaClient._get_conn", "68ce5d8391719d33", "prepared"),
    Body("aiokafka.client.AIOKafkaClient.close", "02119d4d618ae493", "prepared"),
    Body(f"{_COORDINATOR}._do_heartbeat", "dc1d6632aaa68e96", "driver.ColumnarConsumerThread"),
    Body(f"{_DRIVER}.AIOKafkaConsumerThread._fetch_records", "39a2c6c79fc1455a", "driver.ColumnarConsumerThread"),
    Body(f"{_BASE_CONSUMER}._wait_next_records", "6218e1969a636b3f", "driver.ColumnarConsumer"),
    Body(f"{_BASE_CONSUMER}._drain_messages", "44a2500309e83c63", "driver.ColumnarConsumer"),
    Body(f"{_BASE_CONSUMER}._new_offset", "1d2c7ea89a7ad4f1", "driver.ColumnarConsumer"),
    Body(f"{_BASE_CONSUMER}.on_partitions_revoked", "d04b7ae72c6fc206", "driver.ColumnarConsumer"),
    Body(f"{_BASE_CONSUMER}.perform_seek", "0e8c130ff4b0afd8", "driver.ColumnarConsumer"),
    Body(f"{_BASE_CONSUMER}.on_buffer_full", "c8961679e0bcdce5", "source_table.SourceTable"),
    Body(f"{_BASE_CONSUMER}.on_buffer_drop", "4b57e8a418d5ad9c", "source_table.SourceTable"),
    Body(f"{_RECOVERY}._restart_recovery", "6bd8a8558a2dffe4", "recovery.TakeOverRecovery"),
    Body(f"{_RECOVERY}._wait", "ec7429b70176f8c6", "recovery.TakeOverRecovery"),
    Body(f"{_RECOVERY}.on_recovery_completed", "6ef567acf072e46d", "recovery.TakeOverRecovery"),
    Body("faust.tables.manager.TableManager.on_start", "365dd25fbc0e0684", "recovery.TakeOverTableManager"),
    Body("faust.tables.manager.TableManager.on_stop", "351be149c0360de5", "source_table.SourceTable.on_stop"),
    Body(
        "faust.assignor.partition_assignor.PartitionAssignor._get_copartitioned_groups",
        "82b7a3764ad596f6",
        "groups.TaskGroups",
    ),
    Body(
        "faust.assignor.partition_assignor.PartitionAssignor.on_assignment",
        "72f34bf053d696b5",
        "assignor.AddressedAssignor",
    ),
    Body("mode.services.Service.crash", "14980000465df0af", "faust_app.FlagfallApp._crash"),
    Body("mode.worker.Worker._shutdown_loop", "6ad3b1129015ee12", "faust_app.QuietWorker"),
    Body("mode.worker.Worker.execute_from_commandline", "212e98f635d7a69b", "faust_app.QuietWorker"),
)

public import Logging
import Synchronization

/// Records the output of its loggers, so that a test can inspect it.
///
/// ```swift
/// let log = LogRecorder()
/// let network = transport.logged(using: log.logger(.debug))
/// // …
/// #expect(log.messages.first?.contains("GET") == true)
/// #expect(!log.text.contains(password))
/// ```
///
/// All loggers of a recorder write to the same record, regardless of the task that uses them. Like any other logger,
/// each logs only messages of its level or above.
public final class LogRecorder: Sendable {
    /// A logged message.
    public struct Line: Sendable {
        /// The log level.
        public let level: Logger.Level
        /// The text of the message.
        public let message: String
        /// The metadata of the message, including the logger's own.
        public let metadata: Logger.Metadata
    }

    private let state = Mutex<[Line]>([])

    /// Creates an empty recorder.
    public init() {}

    /// The logged lines, in order.
    public var lines: [Line] {
        state.withLock { $0 }
    }

    /// The messages of the lines.
    public var messages: [String] {
        lines.map(\.message)
    }

    /// The complete log text: a test can check here that a secret is absent.
    public var text: String {
        lines.map { "\($0.level) \($0.message) \($0.metadata)" }.joined(separator: "\n")
    }

    /// Creates a logger that writes to this recorder.
    ///
    /// - Parameter level: The minimum level that is logged.
    /// - Returns: The logger.
    public func logger(_ level: Logger.Level = .info) -> Logger {
        Logger(label: "recorded") { _ in Handler(log: self, logLevel: level) }
    }

    private func append(_ line: Line) {
        state.withLock { $0.append(line) }
    }

    private struct Handler: LogHandler {
        let log: LogRecorder
        var logLevel: Logger.Level
        var metadata: Logger.Metadata = [:]

        func log(event: LogEvent) {
            let metadata = metadata.merging(event.metadata ?? [:]) { $1 }
            log.append(Line(level: event.level, message: "\(event.message)", metadata: metadata))
        }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }
    }
}

extension Logger {
    /// A logger without output, which keeps the output of the tests clean.
    package static let silent = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
}

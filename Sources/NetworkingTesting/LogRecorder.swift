public import Logging
import Synchronization

/// Remembers what its loggers are told, for a test to look at.
///
/// ```swift
/// let log = LogRecorder()
/// let network = transport.logged(using: log.logger(.debug))
/// // …
/// #expect(log.messages.first?.contains("GET") == true)
/// #expect(!log.text.contains(password))
/// ```
///
/// All loggers of one recorder write into the same record, whatever task they are used in. A logger passes on what its
/// own level lets through, as any other does.
public final class LogRecorder: Sendable {
    /// One thing that a logger was told.
    public struct Line: Sendable {
        /// How important it is.
        public let level: Logger.Level
        /// What it says.
        public let message: String
        /// What was said along with it, the logger's own metadata included.
        public let metadata: Logger.Metadata
    }

    private let state = Mutex<[Line]>([])

    /// Creates a record of nothing.
    public init() {}

    /// What was logged, in order.
    public var lines: [Line] {
        state.withLock { $0 }
    }

    /// The messages of the lines.
    public var messages: [String] {
        lines.map(\.message)
    }

    /// Everything that somebody who reads the log could see: a test looks here for what must not be seen.
    public var text: String {
        lines.map { "\($0.level) \($0.message) \($0.metadata)" }.joined(separator: "\n")
    }

    /// A logger that writes into this record.
    ///
    /// - Parameter level: What it lets through: this and all that is more important.
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
    /// Says nothing, so that the tests do not either.
    package static let silent = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
}

import Logging
import Synchronization

/// Keeps what its loggers are told.
final class CapturedLog: Sendable {
    struct Line: Sendable {
        let level: Logger.Level
        let message: String
        let metadata: Logger.Metadata
    }

    private let state = Mutex<[Line]>([])

    var lines: [Line] {
        state.withLock { $0 }
    }

    var messages: [String] {
        lines.map(\.message)
    }

    /// Everything that somebody who reads the log could see.
    var text: String {
        lines.map { "\($0.level) \($0.message) \($0.metadata)" }.joined(separator: "\n")
    }

    func logger(_ level: Logger.Level = .info) -> Logger {
        Logger(label: "captured") { _ in Handler(log: self, logLevel: level) }
    }

    private func append(_ line: Line) {
        state.withLock { $0.append(line) }
    }

    private struct Handler: LogHandler {
        let log: CapturedLog
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
    static let silent = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
}

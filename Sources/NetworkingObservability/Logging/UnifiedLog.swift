#if canImport(os)
public import Logging
import NetworkingCore
import os

/// Apple's unified log as the destination of `logged`: what is private goes there as private arguments.
///
/// ```swift
/// let network = URLSession.shared.logged(to: .unifiedLog(subsystem: "com.example.app", category: "network"))
/// ```
///
/// Levels up to debug become debug, info stays, notice is the default, warnings and errors are errors, critical is a
/// fault. With signposts, Instruments shows each passage of a request through `logged` as an interval, and what happens
/// in it as events.
public struct UnifiedLog: LogDestination {
    /// The least important level that it takes.
    public let logLevel: Logging.Logger.Level

    private let logger: os.Logger
    private let signposter: OSSignposter?

    /// Creates a destination.
    ///
    /// - Parameters:
    ///   - subsystem: What the lines belong to, often the app's bundle identifier.
    ///   - category: The part of the subsystem.
    ///   - logLevel: The least important level that it takes.
    ///   - signposts: Whether to leave signposts for Instruments too. Intervals need the lines of `logged` to be at
    ///     `logLevel` or above.
    public init(
        subsystem: String,
        category: String,
        logLevel: Logging.Logger.Level = .info,
        signposts: Bool = false
    ) {
        self.logLevel = logLevel
        logger = os.Logger(subsystem: subsystem, category: category)
        signposter = signposts ? OSSignposter(subsystem: subsystem, category: category) : nil
    }

    /// Writes a record.
    public func write(_ record: LogRecord) {
        let message = UnifiedLogMessage(record)
        let type = OSLogType(record.level)
        // The log takes nothing but literals, so each privacy has its own.
        if message.isSensitive {
            logger.log(
                level: type,
                "\(message.opening, privacy: .public)\(message.values, privacy: .sensitive)\(message.outcome, privacy: .public)\(message.details, privacy: .sensitive)"
            )
        } else {
            logger.log(
                level: type,
                "\(message.opening, privacy: .public)\(message.values, privacy: .private)\(message.outcome, privacy: .public)\(message.details, privacy: .private)"
            )
        }
        signpost(record, message)
    }

    /// Values stay out of signposts: a trace is a file that goes from hand to hand.
    private func signpost(_ record: LogRecord, _ message: UnifiedLogMessage) {
        guard let signposter else { return }
        let id = OSSignpostID(record.passage)
        switch record.phase {
        case .start:
            _ = signposter.beginInterval("Request", id: id, "\(message.opening, privacy: .public)")
        case .success, .failure:
            // Not the state of the beginning, which somebody would have to keep until here.
            let state = OSSignpostIntervalState.beginState(id: id)
            signposter.endInterval(
                "Request",
                state,
                "\(message.opening, privacy: .public)\(message.outcome, privacy: .public)"
            )
        case .event:
            signposter.emitEvent("Event", id: id, "\(message.opening, privacy: .public)")
        }
    }
}

extension LogDestination where Self == UnifiedLog {
    /// Apple's unified log.
    ///
    /// - Parameters:
    ///   - subsystem: What the lines belong to, often the app's bundle identifier.
    ///   - category: The part of the subsystem.
    ///   - logLevel: The least important level that it takes.
    ///   - signposts: Whether to leave signposts for Instruments too.
    /// - Returns: The destination.
    public static func unifiedLog(
        subsystem: String,
        category: String,
        logLevel: Logging.Logger.Level = .info,
        signposts: Bool = false
    ) -> UnifiedLog {
        UnifiedLog(subsystem: subsystem, category: category, logLevel: logLevel, signposts: signposts)
    }
}

extension OSLogType {
    fileprivate init(_ level: Logging.Logger.Level) {
        self =
            switch level {
            case .trace, .debug: .debug
            case .info: .info
            case .notice: .default
            case .warning, .error: .error
            case .critical: .fault
            }
    }
}
#endif

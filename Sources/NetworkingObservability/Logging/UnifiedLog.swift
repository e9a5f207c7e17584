#if canImport(os)
public import Logging
public import NetworkingCore
public import os

/// Apple's unified log as a destination of `logged`, with private values as private arguments.
///
/// <!-- snippet: fragment Apple's platforms -->
/// ```swift
/// let network = URLSession.shared.logged(to: .unifiedLog(subsystem: "com.example.app", category: "network"))
/// ```
///
/// An app that already has an `os.Logger` passes that one:
///
/// <!-- snippet: fragment Apple's platforms -->
/// ```swift
/// let network = URLSession.shared.logged(using: Logger(subsystem: "com.example.app", category: "network"))
/// ```
///
/// Levels up to debug become debug, info stays info, notice becomes the default level, warnings and errors become
/// errors, and critical becomes a fault. With signposts, Instruments shows each passage of a request through `logged`
/// as an interval, and the events within it.
public struct UnifiedLog: LogDestination {
    /// The minimum level of the records to write.
    public let logLevel: Logging.Logger.Level

    private let logger: os.Logger
    private let signposter: OSSignposter?

    /// Creates a destination.
    ///
    /// - Parameters:
    ///   - subsystem: The subsystem of the lines, often the app's bundle identifier.
    ///   - category: The category within the subsystem.
    ///   - logLevel: The minimum level of the records to write.
    ///   - signposts: Whether to emit signposts for Instruments too; `false` by default. An interval appears only if
    ///     the lines of `logged` have `logLevel` or above.
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

    /// Creates a destination that writes to an existing logger.
    ///
    /// <!-- snippet: fragment Apple's platforms -->
    /// ```swift
    /// let log = UnifiedLog(logger, signposter: OSSignposter(logger: logger), logLevel: .debug)
    /// ```
    ///
    /// - Parameters:
    ///   - logger: The logger.
    ///   - signposter: The signposter that emits signposts for Instruments; `nil` for none.
    ///   - logLevel: The minimum level of the records to write.
    public init(
        _ logger: os.Logger,
        signposter: OSSignposter? = nil,
        logLevel: Logging.Logger.Level = .info
    ) {
        self.logLevel = logLevel
        self.logger = logger
        self.signposter = signposter
    }

    /// Writes a record.
    public func write(_ record: LogRecord) {
        let message = UnifiedLogMessage(record)
        let type = OSLogType(record.level)
        // The API accepts only literals, so each privacy needs its own statement.
        if message.isSensitive {
            logger.log(
                level: type,
                """
                \(message.opening, privacy: .public)\(message.values, privacy: .sensitive)\
                \(message.outcome, privacy: .public)\(message.details, privacy: .sensitive)
                """
            )
        } else {
            logger.log(
                level: type,
                """
                \(message.opening, privacy: .public)\(message.values, privacy: .private)\
                \(message.outcome, privacy: .public)\(message.details, privacy: .private)
                """
            )
        }
        signpost(record, message)
    }

    /// Signposts contain no values, because traces are files that are often shared.
    private func signpost(_ record: LogRecord, _ message: UnifiedLogMessage) {
        guard let signposter else { return }
        let id = OSSignpostID(record.passage)
        switch record.phase {
        case .start:
            _ = signposter.beginInterval("Request", id: id, "\(message.opening, privacy: .public)")
        case .success, .failure:
            // A new state instead of the one from the start, which would have to be stored until here.
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
    /// Creates a destination that writes to Apple's unified log.
    ///
    /// - Parameters:
    ///   - subsystem: The subsystem of the lines, often the app's bundle identifier.
    ///   - category: The category within the subsystem.
    ///   - logLevel: The minimum level of the records to write.
    ///   - signposts: Whether to emit signposts for Instruments too.
    /// - Returns: The destination.
    public static func unifiedLog(
        subsystem: String,
        category: String,
        logLevel: Logging.Logger.Level = .info,
        signposts: Bool = false
    ) -> UnifiedLog {
        UnifiedLog(subsystem: subsystem, category: category, logLevel: logLevel, signposts: signposts)
    }

    /// Creates a destination that writes to an existing logger of Apple's unified log.
    ///
    /// - Parameters:
    ///   - logger: The logger.
    ///   - signposter: The signposter that emits signposts for Instruments; `nil` for none.
    ///   - logLevel: The minimum level of the records to write.
    /// - Returns: The destination.
    public static func unifiedLog(
        _ logger: os.Logger,
        signposter: OSSignposter? = nil,
        logLevel: Logging.Logger.Level = .info
    ) -> UnifiedLog {
        UnifiedLog(logger, signposter: signposter, logLevel: logLevel)
    }
}

extension NetworkingComponent {
    /// Logs the start and the end of each request to an existing logger of Apple's unified log.
    ///
    /// <!-- snippet: fragment Apple's platforms -->
    /// ```swift
    /// import os
    ///
    /// let network = URLSession.shared.logged(using: Logger(subsystem: "com.example.app", category: "network"))
    /// ```
    ///
    /// It is `logged(to:)` with a ``UnifiedLog``, so values are private arguments of the unified log, and secrets are
    /// redacted.
    ///
    /// - Parameters:
    ///   - logger: The logger.
    ///   - signposter: The signposter that emits signposts for Instruments; `nil` for none.
    ///   - logLevel: The minimum level of the lines to write. At `debug`, the events of a request are written too.
    ///   - level: The level of the lines of a successful or cancelled request. A failure is logged as a warning.
    ///   - detail: The amount of detail. ``HTTPRequestData/logDetail`` replaces it for one request.
    ///   - privacy: The visibility of the values of query items, header fields and bodies that are not redacted.
    ///   - redaction: The secrets to redact.
    /// - Returns: A component that logs its requests.
    public func logged(
        using logger: os.Logger,
        signposter: OSSignposter? = nil,
        logLevel: Logging.Logger.Level = .info,
        level: Logging.Logger.Level = .info,
        detail: LogDetail = .basic,
        privacy: LogPrivacy = .auto,
        redaction: Redaction = .standard
    ) -> some NetworkingComponent {
        logged(
            to: UnifiedLog(logger, signposter: signposter, logLevel: logLevel),
            level: level,
            detail: detail,
            privacy: privacy,
            redaction: redaction
        )
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

import HTTPTypes
public import Logging
public import NetworkingCore

extension NetworkingComponent {
    /// Logs the start and the end of each request to swift-log.
    ///
    /// ```swift
    /// let network = URLSession.shared.logged(detail: .headers).server(authority: "api.example.com")
    /// // info: → GET https://api.example.com/users/42
    /// // info: ← 200 OK GET https://api.example.com/users/42, 187 bytes in 34.5 ms
    /// ```
    ///
    /// The lines depend on the place in the stack: outside `retry`, there is one pair of lines for a call, and inside
    /// it one for an attempt. Inside `authenticated`, the header fields include the redacted credentials. Every line
    /// has the request's id as metadata, and its number if the stack has `numbered`. If the logger's level is debug,
    /// `logged` also writes events on the way: waits, redirects, expired timeouts.
    ///
    /// Credentials, cookies and tokens are never logged. Header fields, query items, the fields of JSON and form
    /// bodies, and the parts of multipart bodies are redacted by name. Values that ``HTTPRequestData/markSecret(_:)``
    /// marks are redacted everywhere. In other text, the values of such names are redacted, as in `password=…`.
    /// Untrusted input cannot forge a log line.
    ///
    /// - Parameters:
    ///   - logger: The logger; `nil` for the environment's logger.
    ///   - level: The level of the lines of a successful or cancelled request. A failure is logged as a warning.
    ///   - detail: The amount of detail. ``HTTPRequestData/logDetail`` replaces it for one request.
    ///   - privacy: The visibility of the values of query items, header fields and bodies that are not redacted.
    ///   - redaction: The secrets to redact.
    ///   - onStart: Called instead of logging a start.
    ///   - onSuccess: Called instead of logging a response, with the elapsed time.
    ///   - onFailure: Called instead of logging a failure, with the elapsed time.
    /// - Returns: A component that logs its requests.
    public func logged(
        using logger: Logger? = nil,
        level: Logger.Level = .info,
        detail: LogDetail = .basic,
        privacy: LogPrivacy = .auto,
        redaction: Redaction = .standard,
        onStart: (@Sendable (Logger, HTTPRequestData) -> Void)? = nil,
        onSuccess: (@Sendable (Logger, HTTPRequestData, HTTPResponseData, Duration) -> Void)? = nil,
        onFailure: (@Sendable (Logger, HTTPRequestData, any Error, Duration) -> Void)? = nil
    ) -> some NetworkingComponent {
        modified(
            Logged(
                logger: logger,
                level: level,
                detail: detail,
                privacy: privacy,
                redaction: redaction,
                onStart: onStart,
                onSuccess: onSuccess,
                onFailure: onFailure
            )
        )
    }

    /// Logs the start and the end of each request to a destination other than swift-log: Apple's unified log or a
    /// custom one.
    ///
    /// <!-- snippet: fragment Apple's platforms -->
    /// ```swift
    /// let network = URLSession.shared.logged(to: .unifiedLog(subsystem: "com.example.app", category: "network"))
    /// ```
    ///
    /// It writes the same text as ``logged(using:level:detail:privacy:redaction:onStart:onSuccess:onFailure:)``, with
    /// header fields and bodies in separate lines. The destination decides whether private values are visible.
    ///
    /// - Parameters:
    ///   - destination: The destination.
    ///   - level: The level of the lines of a successful or cancelled request. A failure is logged as a warning.
    ///   - detail: The amount of detail. ``HTTPRequestData/logDetail`` replaces it for one request.
    ///   - privacy: The visibility of the values of query items, header fields and bodies that are not redacted.
    ///   - redaction: The secrets to redact.
    /// - Returns: A component that logs its requests.
    public func logged(
        to destination: some LogDestination,
        level: Logger.Level = .info,
        detail: LogDetail = .basic,
        privacy: LogPrivacy = .auto,
        redaction: Redaction = .standard
    ) -> some NetworkingComponent {
        modified(
            Logged(destination: destination, level: level, detail: detail, privacy: privacy, redaction: redaction)
        )
    }
}

struct Logged: UpstreamLimited, CustomStringConvertible {
    /// The destination; `nil` for swift-log.
    var destination: (any LogDestination)?
    var logger: Logger?
    let level: Logger.Level
    let detail: LogDetail
    let privacy: LogPrivacy
    let redaction: Redaction
    var onStart: (@Sendable (Logger, HTTPRequestData) -> Void)?
    var onSuccess: (@Sendable (Logger, HTTPRequestData, HTTPResponseData, Duration) -> Void)?
    var onFailure: (@Sendable (Logger, HTTPRequestData, any Error, Duration) -> Void)?

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        switch interest(in: request) {
        case .none: try await upstream.send(request)
        case .failure: try await sendWatched(request, upstream: upstream)
        case .all: try await sendLogged(request, upstream: upstream)
        }
    }

    /// The outcomes of a request that would be logged.
    private enum Interest {
        case none, failure, all
    }

    private func interest(in request: HTTPRequestData) -> Interest {
        if case .off = request.logDetail ?? detail { return .none }
        let shown = shownLevel.rank
        if shown <= level.rank || shown <= Logger.Level.debug.rank || hasHooks { return .all }
        return shown <= Logger.Level.warning.rank ? .failure : .none
    }

    // A separate function, so that a request without log lines does not pay for its stack frame.
    @inline(never)
    private func sendLogged(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        let output = output
        let clock = NetworkEnvironment.current.clock
        let start = clock.now
        let lines = lines(of: request, to: output)
        logStart(of: request, to: lines, output)
        do {
            let response = try await upstream.send(observed(request, by: lines))
            logSuccess(of: request, response, to: lines, output, elapsed: clock.now - start)
            return response
        } catch {
            logFailure(of: request, error, to: lines, output, elapsed: clock.now - start)
            throw error
        }
    }

    /// Sends a request that is logged only if it fails.
    @inline(never)
    private func sendWatched(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        let start = NetworkEnvironment.current.clock.now
        do {
            return try await upstream.send(request)
        } catch {
            let output = output
            let elapsed = NetworkEnvironment.current.clock.now - start
            logFailure(of: request, error, to: lines(of: request, to: output), output, elapsed: elapsed)
            throw error
        }
    }

    /// The minimum level of the output, read without copying the logger.
    private var shownLevel: Logger.Level {
        if let logger { return logger.logLevel }
        return destination?.logLevel ?? NetworkEnvironment.current.logLevel
    }

    private var output: LogOutput {
        destination.map { .destination($0) } ?? .logger(logger ?? NetworkEnvironment.current.logger)
    }

    private func lines(of request: HTTPRequestData, to output: LogOutput) -> LogLines {
        LogLines(
            output: output,
            level: level,
            detail: request.logDetail ?? detail,
            privacy: privacy,
            redaction: redaction
        )
    }

    private var hasHooks: Bool {
        onStart != nil || onSuccess != nil || onFailure != nil
    }

    private func observed(_ request: HTTPRequestData, by lines: LogLines) -> HTTPRequestData {
        guard lines.shows(.debug) else { return request }
        var request = request
        request.addObserver(EventLog(lines: lines))
        return request
    }

    private func logStart(of request: HTTPRequestData, to lines: LogLines, _ output: LogOutput) {
        if let onStart, case .logger(let logger) = output {
            onStart(logger, request)
        } else {
            lines.start(request)
        }
    }

    private func logSuccess(
        of request: HTTPRequestData,
        _ response: HTTPResponseData,
        to lines: LogLines,
        _ output: LogOutput,
        elapsed: @autoclosure () -> Duration
    ) {
        if let onSuccess, case .logger(let logger) = output {
            onSuccess(logger, request, response, elapsed())
        } else if lines.shows(level) {
            lines.success(request, response, elapsed: elapsed())
        }
    }

    private func logFailure(
        of request: HTTPRequestData,
        _ error: any Error,
        to lines: LogLines,
        _ output: LogOutput,
        elapsed: @autoclosure () -> Duration
    ) {
        if let onFailure, case .logger(let logger) = output {
            onFailure(logger, request, error, elapsed())
        } else {
            lines.failure(request, error, elapsed: elapsed())
        }
    }

    var stackPart: StackPart { StackPart(roles: [.logging], options: [.logDetail, .route]) }

    var description: String {
        let privacy = privacy == .auto ? "" : ", privacy: \(privacy)"
        let place = destination.map { "to: \(type(of: $0)), " } ?? ""
        return "logged(\(place)level: \(level), detail: \(detail)\(privacy))"
    }
}

extension Logger.Level {
    /// The position of the level in the order of levels; comparing positions saves a call.
    fileprivate var rank: UInt8 {
        switch self {
        case .trace: 0
        case .debug: 1
        case .info: 2
        case .notice: 3
        case .warning: 4
        case .error: 5
        case .critical: 6
        }
    }
}

/// Logs the events of a request.
private struct EventLog: NetworkEventObserver {
    let lines: LogLines
    let redaction: Redaction

    init(lines: LogLines) {
        self.lines = lines
        redaction = lines.publicRedaction
    }

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        guard let message = event.record.logMessage(redactedBy: redaction) else { return }
        // The message may contain a value that the request marks as secret.
        lines.event(redaction.redactingSecrets(of: request).shown(message), of: request)
    }
}

public import HTTPTypes
public import NetworkingCore
import Synchronization

extension NetworkingComponent {
    /// Sends a QUERY as a POST if the server does not support QUERY.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .authenticated(with: tokens)
    ///     .fallbackToPost()
    ///     .retry()
    ///     .cached()
    ///     .server(authority: "api.example.com")
    ///
    /// let users: [User] = try await network.request(.query("users", body: .json(["team": "blue"])))
    /// ```
    ///
    /// Use it only for servers that process a POST to the same URL as the same query, without other effects. It belongs
    /// inside `cached`, `deduplicated` and `retry`, and outside `signed`.
    ///
    /// A server refuses a QUERY with the status 405 or 501 (RFC 9110 sections 15.5.6 and 15.6.2). The request is then
    /// sent as a POST with the same header fields and body, except for the conditions and the range, which are not
    /// defined for POST. A 405 whose `Allow` does not contain POST is returned, and so is the refusal by the target of
    /// a redirect, or of a request whose body or sink cannot start over. Each stack remembers for an hour which paths
    /// need a POST, up to 256 of them, and sends a POST at once. If the server then refuses the POST, the next request
    /// is a QUERY again. After a redirect with 301 or 302, the POST keeps its method and its body, as the QUERY would.
    ///
    /// The POST may be repeated like the QUERY (``HTTPRequestData/isIdempotent``). Its response is not stored by a
    /// cache, because HTTP does not allow to use it for a QUERY. A cancelled caller gets `CancellationError`, and
    /// nothing else is sent. ``HTTPRequestData/allowsPostFallback`` decides for one request.
    ///
    /// - Returns: A component that throws the errors of its upstream.
    public func fallbackToPost() -> some NetworkingComponent {
        modified(PostFallback())
    }
}

extension HTTPRequestData {
    /// Whether `fallbackToPost` may send this QUERY as a POST; `true` by default.
    public var allowsPostFallback: Bool {
        get { self[.allowsPostFallback] }
        set { self[.allowsPostFallback] = newValue }
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/allowsPostFallback``.
    public static let allowsPostFallback = RequestOption("allowsPostFallback", default: true, affects: .sending)
}

/// An event of `fallbackToPost`.
@nonexhaustive
public enum PostFallbackEvent: NetworkEvent {
    /// The QUERY is sent as a POST, because the server refused it with this status, or an earlier one if it is `nil`.
    case used(HTTPResponse.Status?)

    /// The record: `postFallback(405)`.
    public var record: EventRecord {
        switch self {
        case .used(let status):
            let reason = status.map { "\($0.code)" } ?? "known"
            return EventRecord(
                "postFallback",
                reason,
                mark: EventMark(.fallback, detail: "post"),
                attributes: ["networking.fallback.outcome": .word("post")]
            ) { _ in "sending the QUERY as a POST (\(reason))" }
        }
    }
}

struct PostFallback: UpstreamLimited, CustomStringConvertible {
    /// The time after which a QUERY is tried again.
    static let memory = Duration.seconds(3_600)

    private let refusals = QueryRefusals()

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        guard request.method == .query, request.allowsPostFallback else { return try await upstream.send(request) }
        return try await sendQuery(request, over: upstream)
    }

    /// It is not inlined, because its values would take memory in every call that waits for its response.
    @inline(never)
    private func sendQuery(
        _ request: HTTPRequestData,
        over upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        let clock = NetworkEnvironment.current.clock
        if refusals.contains(request, at: clock.now) {
            request.emit(PostFallbackEvent.used(nil))
            let answer = try await upstream.outcome(of: request.asPost)
            if let response = request.response(in: answer), response.isMethodRefused {
                refusals.remove(request)
            }
            return try answer.get()
        }
        var query = request
        let sinkUse = query.observeSink()
        let result = try await upstream.outcome(of: query)
        guard let response = request.response(in: result), response.refusesQuery,
            request.canBeSentAgain(sinkUse), request.exchangeLimit?.isReached != true,
            upstream.isSameUser(of: request, as: response.principal)
        else { return try result.get() }
        try request.checkCancellation()
        request.emit(PostFallbackEvent.used(response.status))
        let answer = try await upstream.outcome(of: request.asPost)
        if let response = request.response(in: answer), !response.isMethodRefused {
            refusals.insert(request, at: clock.now)
        }
        return try answer.get()
    }

    var stackPart: StackPart {
        StackPart(
            roles: [.resending],
            options: [.allowsPostFallback],
            rules: [
                .notOutside(
                    .caching,
                    "is outside cached, which removes stored responses after its POST. Put it inside."
                ),
                .notOutside(
                    .deduplication,
                    "is outside deduplicated, which does not share its POST. Put it inside."
                ),
                .notInside(.signing, "is inside signed, which signs the method QUERY. Put it outside."),
            ]
        )
    }

    var description: String {
        "fallbackToPost()"
    }
}

/// The paths at which a server has refused QUERY.
private final class QueryRefusals: Sendable {
    private let ends = Mutex(RecentTable<Duration>())

    func contains(_ request: HTTPRequestData, at now: Duration) -> Bool {
        let key = Self.key(of: request)
        return ends.withLock { $0.withValue(of: key) { $0 > now } } ?? false
    }

    func insert(_ request: HTTPRequestData, at now: Duration) {
        let key = Self.key(of: request)
        let end = now + PostFallback.memory
        ends.withLock { _ = $0.withValue(of: key, adding: end) { $0 = end } }
    }

    func remove(_ request: HTTPRequestData) {
        let key = Self.key(of: request)
        ends.withLock { _ = $0.withValue(of: key) { $0 = .zero } }
    }

    /// The scheme, the authority and the path.
    ///
    /// The query of the URL does not select the methods (RFC 10008 section 3).
    private static func key(of request: HTTPRequestData) -> String {
        let path = RequestTarget.split(request.closedTarget).path
        return "\(request.scheme ?? "https")://\(request.authority?.lowercased() ?? "")\(path)"
    }
}

extension HTTPResponseData {
    fileprivate var isMethodRefused: Bool {
        status.code == 405 || status.code == 501
    }

    /// Whether the server of a QUERY does not support the method and may support POST.
    fileprivate var refusesQuery: Bool {
        guard isMethodRefused, redirects.isEmpty, sentRequest.method == .query else { return false }
        let allowed = headerFields[values: .allow]
        return allowed.isEmpty
            || allowed.joined(separator: ",").split(separator: ",").contains { $0.trimmed == "POST" }
    }
}

extension HTTPRequestData {
    /// The QUERY as a POST that may be repeated.
    fileprivate var asPost: HTTPRequestData {
        var post = self
        post.method = .post
        post.replacesQuery = true
        if post.isIdempotent == nil {
            post.isIdempotent = true
        }
        for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .range, .ifRange] {
            post.headerFields[name] = nil
        }
        return post
    }
}

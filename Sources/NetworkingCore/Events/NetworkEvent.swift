public import HTTPTypes

/// Something that happened to a request on its way through a stack.
///
/// Modifiers and transports tell; logging, measuring and tracing listen, and so may anybody: `observed` in a stack, or
/// ``HTTPRequestData/addObserver(_:)`` for one request. A request that nobody listens to pays for one look at an empty array.
@nonexhaustive
public enum NetworkEvent: Sendable {
    /// The request came to where `observed` listens.
    case callStarted
    /// It has its response.
    case callEnded(HTTPResponseData)
    /// It failed, or its caller was cancelled.
    case callFailed(any Error)
    /// A request waits before it goes on, for so long at most where that is known.
    case waiting(Wait, Duration?)
    /// The wait is over, after so long: it goes on, unless what follows says otherwise.
    case waited(Wait, Duration)
    /// A transport begins an exchange.
    case attemptStarted
    /// A transport reads the body to its end before it connects, since it cannot send one that is still to come.
    case readingBody
    /// It has read the body.
    case bodyRead
    /// A transport begins to connect, and will tell when it has; one that cannot tell says neither.
    case connecting
    /// A transport has a connection and sends the request.
    case connected
    /// The head of a response arrived.
    case headReceived(HTTPResponse)
    /// The server sends the request elsewhere, and that is followed.
    case redirected(to: HTTPRequestData)
    /// The server sends the request elsewhere, and that is not followed: the redirect is the response.
    case redirectRefused(RedirectRefusal)
    /// A transport tells what it knows of the connection that an exchange had.
    case connectionMeasured(ConnectionMetrics)
    /// A transport has the whole response of an exchange, just before it says that the exchange ended.
    case responseReceived(HTTPResponseData)
    /// A transport ended an exchange, with so many bytes of body each way.
    case attemptEnded(sent: Int64, received: Int64)
    /// A transport's exchange failed, or its caller was cancelled.
    case attemptFailed(any Error)
    /// An attempt failed, and another will be made after its backoff.
    case retrying(Attempt)
    /// An attempt failed in a way that may pass, and no other will be made.
    case retryRefused(RetryRefusal)
    /// A request has the credentials renewed, or gets the first.
    case refreshingCredentials
    /// A response comes from the cache.
    case cacheHit(CacheHit)
    /// Nothing fit for it was in the cache.
    case cacheMissed
    /// A response was put into the cache.
    case cacheStored
    /// Other responses went to make room for it.
    case cacheEvicted(count: Int)
    /// What is in the cache was confirmed by the server.
    case cacheRevalidated
    /// The cache let the request or its response pass.
    case cacheBypassed(CacheBypass)
    /// The cache's store failed; the request goes on without it.
    case cacheFailed(any Error)
    /// A request shares the exchange of an identical one that is under way.
    case shared
    /// An attempt was given up because its time ran out.
    case timedOut(after: Duration)
    /// The call was given up because its time ran out.
    case deadlineExceeded(after: Duration)
    /// The request is sent without credentials that a part of the stack would have added.
    case credentialsWithheld(WithheldCredentials)
    /// What a modifier or a transport of somebody else's has to say; no secrets.
    case note(String)

    /// What kind of response came from the cache.
    @nonexhaustive
    public enum CacheHit: String, Sendable, Hashable {
        /// One that is fresh.
        case fresh
        /// One that is stale, and validated in the background.
        case stale
        /// One that stands in for a server that fails.
        case standIn
        /// One that the server has confirmed.
        case revalidated
    }

    /// Why a redirect is not followed.
    @nonexhaustive
    public enum RedirectRefusal: String, Sendable, Hashable {
        /// The location is no http URL, holds credentials, or is longer than 64 KiB.
        case unusableLocation
        /// It goes from https to http.
        case downgrade
        /// The body would have to be sent again, but can be sent only once.
        case bodyNotReplayable
        /// Somebody else has signed in since.
        case anotherUser
        /// The request's policy says so.
        case policy
    }

    /// Why a modifier waits.
    @nonexhaustive
    public enum Wait: String, Sendable, Hashable {
        /// `delayed` says so.
        case delay
        /// `events` waits before it connects again: between two calls, so that only the request's own observers hear it.
        case reconnection
        /// `retry` waits before the next attempt.
        case backoff
        /// Open streams hold every connection that the transport makes to the server.
        ///
        /// `AsyncHTTPClientTransport` and, on Linux over plain http, URLSession report it.
        case connection
        /// `throttled` has no slot free.
        case slot
        /// `rateLimited` has no permit yet.
        case permit
        /// `authenticated` has the credentials renewed, or somebody else does.
        case credentials
        /// `deduplicated` shares an exchange that somebody else began.
        case sharing
    }
}

extension NetworkEvent: CustomStringConvertible, CustomReflectable {
    /// What happened, without secrets.
    public var description: String {
        switch self {
        case .callStarted: "callStarted"
        case .callEnded(let response): "callEnded(\(response))"
        case .callFailed(let error): "callFailed(\(type(of: error)))"
        case .waiting(let wait, let duration): "waiting(\(wait)\(duration.map { ", \($0)" } ?? ""))"
        case .waited(let wait, let duration): "waited(\(wait), \(duration))"
        case .retrying(let attempt): "retrying(\(attempt))"
        case .retryRefused(let refusal): "retryRefused(\(refusal))"
        case .refreshingCredentials: "refreshingCredentials"
        case .cacheHit(let hit): "cacheHit(\(hit))"
        case .cacheMissed: "cacheMissed"
        case .cacheStored: "cacheStored"
        case .cacheEvicted(let count): "cacheEvicted(count: \(count))"
        case .cacheRevalidated: "cacheRevalidated"
        case .cacheBypassed(let reason): "cacheBypassed(\(reason))"
        case .cacheFailed(let error): "cacheFailed(\(type(of: error)))"
        case .shared: "shared"
        case .attemptStarted: "attemptStarted"
        case .readingBody: "readingBody"
        case .bodyRead: "bodyRead"
        case .connecting: "connecting"
        case .connected: "connected"
        case .headReceived(let head): "headReceived(\(head.status))"
        case .redirected(let next): "redirected(to: \(next))"
        case .redirectRefused(let reason): "redirectRefused(\(reason))"
        case .connectionMeasured(let metrics): "connectionMeasured(\(metrics))"
        case .responseReceived(let response): "responseReceived(\(response))"
        case .attemptEnded(let sent, let received): "attemptEnded(sent: \(sent), received: \(received))"
        case .attemptFailed(let error): "attemptFailed(\(type(of: error)))"
        case .timedOut(let limit): "timedOut(after: \(limit))"
        case .deadlineExceeded(let limit): "deadlineExceeded(after: \(limit))"
        case .credentialsWithheld(let withheld): "credentialsWithheld(\(withheld))"
        case .note(let text): "note(\(PrintableText.singleLine(text)))"
        }
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["event": description])
    }
}

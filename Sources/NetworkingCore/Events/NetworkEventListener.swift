public import HTTPTypes

/// A listener with a method for each kind of event, of which one implements those that matter.
///
/// ```swift
/// struct SlowHeads: NetworkEventListener {
///     func waited(_ wait: NetworkEvent.Wait, _ duration: Duration, _ request: HTTPRequestData) {
///         if wait == .slot, duration > .seconds(1) {
///             print("\(request.id) had to wait for \(duration)")
///         }
///     }
/// }
///
/// let network = URLSession.shared.throttled(max: 6).observed(by: SlowHeads())
/// ```
///
/// Each hears on whatever thread it happens, and the request waits for it. All do nothing by default.
public protocol NetworkEventListener: NetworkEventObserver {
    /// The request came to where `observed` listens.
    func callStarted(_ request: HTTPRequestData)
    /// It has its response.
    func callEnded(_ response: HTTPResponseData, _ request: HTTPRequestData)
    /// It failed, or its caller was cancelled.
    func callFailed(_ error: any Error, _ request: HTTPRequestData)
    /// The request waits, for so long at most where that is known.
    func waiting(_ wait: NetworkEvent.Wait, upTo limit: Duration?, _ request: HTTPRequestData)
    /// The wait is over, after so long.
    func waited(_ wait: NetworkEvent.Wait, _ duration: Duration, _ request: HTTPRequestData)
    /// A transport begins an exchange.
    func attemptStarted(_ request: HTTPRequestData)
    /// A transport reads the body to its end before it connects.
    func readingBody(_ request: HTTPRequestData)
    /// It has read the body.
    func bodyRead(_ request: HTTPRequestData)
    /// A transport begins to connect.
    func connecting(_ request: HTTPRequestData)
    /// A transport has a connection and sends the request.
    func connected(_ request: HTTPRequestData)
    /// The head of a response arrived.
    func headReceived(_ head: HTTPResponse, _ request: HTTPRequestData)
    /// A transport tells what it knows of the connection.
    func connectionMeasured(_ metrics: ConnectionMetrics, _ request: HTTPRequestData)
    /// A transport has the whole response of an exchange.
    func responseReceived(_ response: HTTPResponseData, _ request: HTTPRequestData)
    /// A transport ended an exchange, with so many bytes of body each way.
    func attemptEnded(sent: Int64, received: Int64, _ request: HTTPRequestData)
    /// A transport's exchange failed, or its caller was cancelled.
    func attemptFailed(_ error: any Error, _ request: HTTPRequestData)
    /// A redirect is followed.
    func redirected(to next: HTTPRequestData, _ request: HTTPRequestData)
    /// A redirect is not followed.
    func redirectRefused(_ refusal: NetworkEvent.RedirectRefusal, _ request: HTTPRequestData)
    /// Another attempt will be made after its backoff.
    func retrying(_ attempt: Attempt, _ request: HTTPRequestData)
    /// No other attempt will be made, though the failure may pass.
    func retryRefused(_ refusal: RetryRefusal, _ request: HTTPRequestData)
    /// The request has the credentials renewed, or gets the first.
    func refreshingCredentials(_ request: HTTPRequestData)
    /// The request is sent without credentials that a part of the stack would have added.
    func credentialsWithheld(_ withheld: NetworkEvent.WithheldCredentials, _ request: HTTPRequestData)
    /// The response comes from the cache.
    func cacheHit(_ hit: NetworkEvent.CacheHit, _ request: HTTPRequestData)
    /// Nothing fit was in the cache.
    func cacheMissed(_ request: HTTPRequestData)
    /// The response was put into the cache.
    func cacheStored(_ request: HTTPRequestData)
    /// Other responses went to make room for it.
    func cacheEvicted(count: Int, _ request: HTTPRequestData)
    /// What is in the cache was confirmed by the server.
    func cacheRevalidated(_ request: HTTPRequestData)
    /// The cache let the request or its response pass.
    func cacheBypassed(_ reason: CacheBypass, _ request: HTTPRequestData)
    /// The cache's store failed.
    func cacheFailed(_ error: any Error, _ request: HTTPRequestData)
    /// The request shares the exchange of an identical one.
    func shared(_ request: HTTPRequestData)
    /// An attempt was given up because its time ran out.
    func timedOut(after limit: Duration, _ request: HTTPRequestData)
    /// The call was given up because its time ran out.
    func deadlineExceeded(after limit: Duration, _ request: HTTPRequestData)
    /// What somebody else's modifier or transport has to say.
    func note(_ text: String, _ request: HTTPRequestData)
}

// MARK: - The defaults: nothing is done.

extension NetworkEventListener {
    /// Does nothing.
    public func callStarted(_ request: HTTPRequestData) {}
    /// Does nothing.
    public func callEnded(_ response: HTTPResponseData, _ request: HTTPRequestData) {}
    /// Does nothing.
    public func callFailed(_ error: any Error, _ request: HTTPRequestData) {}
    /// Does nothing.
    public func waiting(_ wait: NetworkEvent.Wait, upTo limit: Duration?, _ request: HTTPRequestData) {}
    /// Does nothing.
    public func waited(_ wait: NetworkEvent.Wait, _ duration: Duration, _ request: HTTPRequestData) {}
    /// Does nothing.
    public func attemptStarted(_ request: HTTPRequestData) {}
    /// Does nothing.
    public func readingBody(_ request: HTTPRequestData) {}
    /// Does nothing.
    public func bodyRead(_ request: HTTPRequestData) {}
    /// Does nothing.
    public func connecting(_ request: HTTPRequestData) {}
    /// Does nothing.
    public func connected(_ request: HTTPRequestData) {}
    /// Does nothing.
    public func headReceived(_ head: HTTPResponse, _ request: HTTPRequestData) {}
    /// Does nothing.
    public func connectionMeasured(_ metrics: ConnectionMetrics, _ request: HTTPRequestData) {}
    /// Does nothing.
    public func responseReceived(_ response: HTTPResponseData, _ request: HTTPRequestData) {}
    /// Does nothing.
    public func attemptEnded(sent: Int64, received: Int64, _ request: HTTPRequestData) {}
    /// Does nothing.
    public func attemptFailed(_ error: any Error, _ request: HTTPRequestData) {}
    /// Does nothing.
    public func redirected(to next: HTTPRequestData, _ request: HTTPRequestData) {}
    /// Does nothing.
    public func redirectRefused(_ refusal: NetworkEvent.RedirectRefusal, _ request: HTTPRequestData) {}
    /// Does nothing.
    public func retrying(_ attempt: Attempt, _ request: HTTPRequestData) {}
    /// Does nothing.
    public func retryRefused(_ refusal: RetryRefusal, _ request: HTTPRequestData) {}
    /// Does nothing.
    public func refreshingCredentials(_ request: HTTPRequestData) {}
    /// Does nothing.
    public func credentialsWithheld(_ withheld: NetworkEvent.WithheldCredentials, _ request: HTTPRequestData) {}
    /// Does nothing.
    public func cacheHit(_ hit: NetworkEvent.CacheHit, _ request: HTTPRequestData) {}
    /// Does nothing.
    public func cacheMissed(_ request: HTTPRequestData) {}
    /// Does nothing.
    public func cacheStored(_ request: HTTPRequestData) {}
    /// Does nothing.
    public func cacheEvicted(count: Int, _ request: HTTPRequestData) {}
    /// Does nothing.
    public func cacheRevalidated(_ request: HTTPRequestData) {}
    /// Does nothing.
    public func cacheBypassed(_ reason: CacheBypass, _ request: HTTPRequestData) {}
    /// Does nothing.
    public func cacheFailed(_ error: any Error, _ request: HTTPRequestData) {}
    /// Does nothing.
    public func shared(_ request: HTTPRequestData) {}
    /// Does nothing.
    public func timedOut(after limit: Duration, _ request: HTTPRequestData) {}
    /// Does nothing.
    public func deadlineExceeded(after limit: Duration, _ request: HTTPRequestData) {}
    /// Does nothing.
    public func note(_ text: String, _ request: HTTPRequestData) {}
}

extension NetworkEventListener {
    /// Calls the method of the event.
    public func observe(_ event: NetworkEvent, of request: HTTPRequestData) {
        switch event {
        case .callStarted: callStarted(request)
        case .callEnded(let response): callEnded(response, request)
        case .callFailed(let error): callFailed(error, request)
        case .waiting(let wait, let limit): waiting(wait, upTo: limit, request)
        case .waited(let wait, let duration): waited(wait, duration, request)
        case .attemptStarted: attemptStarted(request)
        case .readingBody: readingBody(request)
        case .bodyRead: bodyRead(request)
        case .connecting: connecting(request)
        case .connected: connected(request)
        case .headReceived(let head): headReceived(head, request)
        case .connectionMeasured(let metrics): connectionMeasured(metrics, request)
        case .responseReceived(let response): responseReceived(response, request)
        case .attemptEnded(let sent, let received): attemptEnded(sent: sent, received: received, request)
        case .attemptFailed(let error): attemptFailed(error, request)
        case .redirected(let next): redirected(to: next, request)
        case .redirectRefused(let refusal): redirectRefused(refusal, request)
        case .retrying(let attempt): retrying(attempt, request)
        case .retryRefused(let refusal): retryRefused(refusal, request)
        case .refreshingCredentials: refreshingCredentials(request)
        case .credentialsWithheld(let withheld): credentialsWithheld(withheld, request)
        case .cacheHit(let hit): cacheHit(hit, request)
        case .cacheMissed: cacheMissed(request)
        case .cacheStored: cacheStored(request)
        case .cacheEvicted(let count): cacheEvicted(count: count, request)
        case .cacheRevalidated: cacheRevalidated(request)
        case .cacheBypassed(let reason): cacheBypassed(reason, request)
        case .cacheFailed(let error): cacheFailed(error, request)
        case .shared: shared(request)
        case .timedOut(let limit): timedOut(after: limit, request)
        case .deadlineExceeded(let limit): deadlineExceeded(after: limit, request)
        case .note(let text): note(text, request)
        }
    }
}

public import NetworkingCore

extension NetworkingComponent {
    /// Has a listener hear what happens to each request from here on, towards the transport.
    ///
    /// ```swift
    /// struct RetryCounter: NetworkEventListener {
    ///     let count: Counter
    ///
    ///     func retrying(_ attempt: Attempt, _ request: HTTPRequestData) {
    ///         count.increase()
    ///     }
    /// }
    ///
    /// let network = URLSession.shared.retry().observed(by: RetryCounter(count: count))
    /// ```
    ///
    /// It also hears when a request comes to this place, and how it leaves. Of an exchange that several requests share, each one's
    /// listeners hear as of their own request. What is done in the background is heard by nobody.
    ///
    /// - Parameter observer: The listener.
    /// - Returns: A component that tells it.
    public func observed(by observer: some NetworkEventObserver) -> some NetworkingComponent {
        modified(Observed(observer: observer))
    }
}

struct Observed<Observer: NetworkEventObserver>: NetworkingModifier, CustomStringConvertible {
    let observer: Observer

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        var observed = request
        observed.addObserver(observer)
        observer.observe(.callStarted, of: request)
        do {
            let response = try await upstream.send(observed)
            observer.observe(.callEnded(response), of: request)
            return response
        } catch {
            observer.observe(.callFailed(error), of: request)
            throw error
        }
    }

    // Measurements of an app use the route.
    var requestOptions: Set<RequestOptionKey> { observer.requestOptions.union([.route]) }

    var description: String {
        "observed(by: \(Observer.self))"
    }
}

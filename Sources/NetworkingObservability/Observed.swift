public import NetworkingCore

extension NetworkingComponent {
    /// Notifies a listener of the events of each request between this place in the stack and the transport.
    ///
    /// ```swift
    /// struct RetryCounter: NetworkEventObserver {
    ///     let count: Counter
    ///
    ///     func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
    ///         if case RetryEvent.retrying = event { count.increase() }
    ///     }
    /// }
    ///
    /// let network = URLSession.shared.retry().observed(by: RetryCounter(count: count))
    /// ```
    ///
    /// The listener also receives a ``CallEvent`` when a request enters this component, and when it leaves. If several
    /// requests share an exchange, the listeners of each request receive its events as those of their own request.
    /// Background work is not reported.
    ///
    /// - Parameter observer: The listener.
    /// - Returns: A component that reports to the listener.
    public func observed(by observer: some NetworkEventObserver) -> some NetworkingComponent {
        modified(Observed(observer: observer))
    }

    /// Calls a closure with the events of each request between this place in the stack and the transport.
    ///
    /// ```swift
    /// let network = URLSession.shared.throttled(max: 6).observed { event, request in
    ///     if case WaitEvent.waited(.concurrencyLimit, let duration) = event, duration > .seconds(1) {
    ///         print("\(request.id) waited for \(duration)")
    ///     }
    /// }
    /// ```
    ///
    /// Otherwise, it behaves like ``observed(by:)``.
    ///
    /// - Parameter observe: Receives each event with its request, on the thread on which the event occurs. It should
    ///   return quickly, because the request waits for it.
    /// - Returns: A component that reports to the closure.
    public func observed(
        _ observe: @escaping @Sendable (_ event: any NetworkEvent, _ request: HTTPRequestData) -> Void
    ) -> some NetworkingComponent {
        modified(Observed(observer: ClosureObserver(closure: observe)))
    }
}

/// The closure of `observed(_:)`, wrapped in a listener.
struct ClosureObserver: NetworkEventObserver {
    let closure: @Sendable (any NetworkEvent, HTTPRequestData) -> Void

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        closure(event, request)
    }
}

struct Observed<Observer: NetworkEventObserver>: UpstreamLimited, CustomStringConvertible {
    let observer: Observer

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        var observed = request
        observed.addObserver(observer)
        observer.observe(CallEvent.started, of: request)
        do {
            let response = try await upstream.send(observed)
            observer.observe(CallEvent.ended(response), of: request)
            return response
        } catch {
            observer.observe(CallEvent.failed(error), of: request)
            throw error
        }
    }

    // A listener of the app may read the route.
    var stackPart: StackPart { StackPart(options: observer.requestOptions.union([.route])) }

    var description: String {
        observer is ClosureObserver ? "observed" : "observed(by: \(Observer.self))"
    }
}

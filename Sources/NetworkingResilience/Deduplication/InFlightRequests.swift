import HTTPTypes
import NetworkingCore
import Synchronization

/// The requests of `deduplicated` that are in flight.
///
/// Stacks that use the same object share their exchanges.
public final class InFlightRequests: Sendable {
    // By the hashes of the keys. A comparison of two keys may run the app's code, so it happens outside the lock, and a
    // key that is removed is released there.
    private let state = Mutex<[Int: SameHash]>([:])

    /// Creates an object with no exchanges in flight.
    public init() {}

    /// The number of exchanges that can be joined.
    public var count: Int {
        exchanges.count
    }

    /// The number of requests that wait for an exchange, including the requests that started one.
    public var waiting: Int {
        exchanges.reduce(0) { $0 + $1.work.waiters }
    }

    private var exchanges: [InFlightRequest] {
        state.withLock { $0.values.flatMap(\.all) }
    }

    /// Joins the exchange for a key, or creates one.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - replacingErrors: Whether a part further in may throw an error of the app in place of a response.
    /// - Returns: The exchange, and the caller's place among its waiters. The waiter is `nil` for a new exchange, which
    ///   the caller must start.
    func join(
        _ key: DeduplicationKey,
        replacingErrors: Bool
    ) -> (InFlightRequest, SharedOperation<HTTPResponseData>.Waiter?) {
        while true {
            let known = state.withLock { $0.isEmpty ? nil : $0[key.hash] }
            let same = known?.first { $0.key == key }
            if let same, let waiter = same.work.join() { return (same, waiter) }
            let exchange = InFlightRequest(key, replacingErrors: replacingErrors)
            let isAdded = state.withLock { exchanges in
                let present = exchanges[key.hash]
                // Another caller may have started the same exchange meanwhile.
                guard present?.all.allSatisfy({ known?.contains($0) == true }) != false else { return false }
                exchanges[key.hash] = present?.removing { $0 === same }?.adding(exchange) ?? SameHash(exchange)
                return true
            }
            if isAdded { return (exchange, nil) }
        }
    }

    /// Removes an exchange, so that later requests do not join it.
    func remove(_ exchange: InFlightRequest) {
        removeAll(withHash: exchange.key.hash) { $0 === exchange }
    }

    /// Keeps later requests from joining the reads of a URL that are in flight.
    ///
    /// Callers that have already joined still get their response.
    func detachReads(of url: DeduplicationURL) {
        let hashes = state.withLock { $0.isEmpty ? [] : Array($0.keys) }
        for hash in hashes {
            removeAll(withHash: hash) { $0.key.url == url && $0.key.method.isSafe }
        }
    }

    private func removeAll(withHash hash: Int, where isRemoved: (InFlightRequest) -> Bool) {
        let former = state.withLock { exchanges -> SameHash? in
            guard let index = exchanges.index(forKey: hash) else { return nil }
            let former = exchanges.values[index]
            if let left = former.removing(isRemoved) {
                exchanges.values[index] = left
            } else {
                exchanges.remove(at: index)
            }
            return former
        }
        withExtendedLifetime(former) {}
    }
}

/// The exchanges whose keys have the same hash.
private struct SameHash {
    // There is nearly always one, which needs no array.
    private let one: InFlightRequest
    private let others: [InFlightRequest]

    init(_ one: InFlightRequest, _ others: [InFlightRequest] = []) {
        (self.one, self.others) = (one, others)
    }

    var all: [InFlightRequest] {
        [one] + others
    }

    func first(where isFound: (InFlightRequest) -> Bool) -> InFlightRequest? {
        isFound(one) ? one : others.first(where: isFound)
    }

    func contains(_ exchange: InFlightRequest) -> Bool {
        first { $0 === exchange } != nil
    }

    func adding(_ exchange: InFlightRequest) -> SameHash {
        SameHash(one, others + [exchange])
    }

    /// Returns the exchanges to which a condition does not apply; `nil` if there are none.
    func removing(_ isRemoved: (InFlightRequest) -> Bool) -> SameHash? {
        guard !others.isEmpty else { return isRemoved(one) ? nil : self }
        let left = all.filter { !isRemoved($0) }
        return left.first.map { SameHash($0, Array(left.dropFirst())) }
    }
}

/// A shared exchange and its listeners.
final class InFlightRequest: Sendable {
    let key: DeduplicationKey
    let work = SharedExchange()
    /// The listeners; `nil` if no request has any that need events.
    let audience: Audience?

    /// The response that an error of the app has replaced; `nil` if no part further in throws one.
    let refused: RefusedResponse?

    init(_ key: DeduplicationKey, replacingErrors: Bool) {
        self.key = key
        audience = key.needsEvents ? Audience() : nil
        refused = replacingErrors ? RefusedResponse() : nil
    }

    /// Runs an operation during which a request receives the events and the progress of the exchange.
    func listening(
        as request: HTTPRequestData,
        _ operation: nonisolated(nonsending) () async throws -> HTTPResponseData
    ) async throws -> HTTPResponseData {
        guard let audience else { return try await operation() }
        let listener = audience.add(request)
        defer { audience.remove(listener) }
        let response = try await operation()
        // The caller receives the last report before its response.
        await listener.settle()
        return response
    }
}

/// The listeners of a shared exchange.
///
/// Each listener receives the events with its request in place of the shared one, as long as its caller waits.
final class Audience: NetworkEventObserver {
    private struct State {
        var listeners: [ObjectIdentifier: Listener] = [:]
        var progress: TransferProgress?
        /// The number of listeners that have joined.
        var joined = 0
        /// The listeners in the order in which they have joined.
        var inOrder: [Listener] {
            listeners.values.sorted { $0.order < $1.order }
        }
        /// The number of progress reports so far.
        var reports = 0
    }

    /// The listener for one request.
    final class Listener: Sendable {
        let request: HTTPRequestData
        let order: Int
        private let reports: OrderedReports?
        private let thread: ActionThread?

        init(_ request: HTTPRequestData, order: Int) {
            // A recorder measures a single call, so it does not receive the events of the shared exchange.
            var request = request
            request.recorder = nil
            self.request = request
            self.order = order
            reports = request.progressHandler.map { OrderedReports(to: $0) }
            // The clock of a simulation would not wait for another thread.
            let isSimulated = OwnedTaskExecutor.current != nil
            thread = reports == nil || isSimulated ? nil : ActionThread(label: "Networking.Progress")
        }

        /// Emits an event of the shared exchange as an event of the listener's own request.
        func notify(_ event: any NetworkEvent, of shared: HTTPRequestData) {
            listenerRequest(for: shared).emit(event)
        }

        func attemptFields(of shared: HTTPRequestData) -> HTTPFields {
            listenerRequest(for: shared).attemptFields
        }

        private func listenerRequest(for shared: HTTPRequestData) -> HTTPRequestData {
            // The result has the message that the exchange sent, and the observers of the listener's request.
            var request = request
            request.takeMessage(of: shared)
            return request
        }

        /// Reports progress, unless a newer report was made.
        ///
        /// Two threads may report to a request that has just joined. The handler runs on a thread of its own, because
        /// one that takes long must not hold back the exchange of other callers.
        func report(_ progress: TransferProgress, _ number: Int) {
            reports?.report(progress, number, on: thread)
        }

        /// Waits until the progress handler has received all reports.
        func settle() async {
            await reports?.settle(until: request.exchangeLimit)
        }
    }

    private let state = Mutex(State())

    /// Adds a request's progress handler and observers, and reports the current progress to the handler.
    func add(_ request: HTTPRequestData) -> Listener {
        let (listener, progress, number) = state.withLock { state in
            state.joined += 1
            let listener = Listener(request, order: state.joined)
            state.listeners[ObjectIdentifier(listener)] = listener
            return (listener, state.progress, state.reports)
        }
        if let progress {
            listener.report(progress, number)
        }
        return listener
    }

    func remove(_ listener: Listener) {
        state.withLock { $0.listeners[ObjectIdentifier(listener)] = nil }
    }

    /// Returns the request for the exchange, which reports to this audience and not to its creator's listeners.
    func observing(_ request: HTTPRequestData) -> HTTPRequestData {
        var request = request
        request.replaceObservers(with: self)
        request.progressHandler = { [self] progress in
            let (listeners, number) = state.withLock { state in
                state.progress = progress
                state.reports += 1
                return (state.inOrder, state.reports)
            }
            for listener in listeners {
                listener.report(progress, number)
            }
        }
        return request
    }

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        for listener in state.withLock({ $0.inOrder }) {
            listener.notify(event, of: request)
        }
    }

    func headerFields(forAttempt request: HTTPRequestData) -> HTTPFields {
        // The exchange is sent once, so one listener provides its fields: the first to join that is still waiting.
        for listener in state.withLock({ $0.inOrder }) {
            let fields = listener.attemptFields(of: request)
            if !fields.isEmpty { return fields }
        }
        return [:]
    }
}

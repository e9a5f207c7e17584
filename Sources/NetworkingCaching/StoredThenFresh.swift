import FoundationForNetworking
import HTTPTypes
public import NetworkingCore

extension NetworkingComponent {
    /// Returns the response that the stack's cache has stored, and then the server's response if it differs.
    ///
    /// ```swift
    /// for try await response in network.storedThenFresh(request) {
    ///     show(response.data, isStored: response.isCached)
    /// }
    /// ```
    ///
    /// The stored response is used whatever its age. The server is then asked whether it is still valid
    /// (``CacheMode/noCache``), so an unchanged body with an `ETag` is not transferred again. Two responses differ if
    /// their status, media type or bytes do.
    ///
    /// Only the server's response is returned if the stack has no cache, if the cache has stored nothing or cannot be
    /// read, if the request is not a GET or HEAD without a body or a QUERY, or if its ``HTTPRequestData/cacheMode`` is
    /// `.noStore` or `.reload`. Any other mode of the request is replaced.
    ///
    /// Each iteration sends the request again. After a stored response, nothing is sent to the server before the next
    /// element is awaited. If the request to the server fails, the iteration throws, whether there was a stored
    /// response or not.
    ///
    /// - Parameter request: The request. Its sink, if any, is not used.
    /// - Returns: One or two responses, whatever their status codes.
    public func storedThenFresh(_ request: HTTPRequestData) -> StoredThenFresh<HTTPResponseData> {
        StoredThenFresh(
            route: { routed(request, keepingUsers: true) },
            stored: { routed in try await withoutRetries { try await storedResponse(to: request, routed) } },
            fresh: { routed in try await begin(routed: routed.validating, for: request) },
            response: { $0 }
        )
    }

    /// Returns the decoded response that the stack's cache has stored, and then the server's if it differs.
    ///
    /// ```swift
    /// for try await (user, response) in network.storedThenFresh(.user(id: 42)) {
    ///     label.text = response.isCached ? "\(user.name) …" : user.name
    /// }
    /// ```
    ///
    /// A stored response is skipped if its status is not accepted or it cannot be decoded. Everything else is the
    /// same as for an untyped request.
    ///
    /// - Parameter request: The request, and how to decode its response.
    /// - Returns: One or two values with their responses. The iteration throws the errors of `value` for the server's
    ///   response.
    public func storedThenFresh<Response: Sendable>(
        _ request: Request<Response>
    ) -> StoredThenFresh<(body: Response, response: HTTPResponseData)> {
        StoredThenFresh(
            route: { routed(request.http, keepingUsers: true) },
            stored: { routed in try await withoutRetries { try await storedValue(of: request, routed) } },
            fresh: { routed in try await value(request, routed: routed.validating) },
            response: { $0.response }
        )
    }

    private func storedResponse(
        to request: HTTPRequestData,
        _ routed: HTTPRequestData
    ) async throws -> HTTPResponseData? {
        guard let lookup = lookup(of: routed) else { return nil }
        let stored = try await begin(routed: lookup, for: request)
        return stored.isCached ? stored : nil
    }

    private func storedValue<Response: Sendable>(
        of request: Request<Response>,
        _ routed: HTTPRequestData
    ) async throws -> (body: Response, response: HTTPResponseData)? {
        guard let lookup = lookup(of: routed) else { return nil }
        let stored = try await value(request, routed: lookup)
        return stored.response.isCached ? stored : nil
    }

    /// Returns the request for the cache alone; `nil` if the stack would send it to the server.
    private func lookup(of request: HTTPRequestData) -> HTTPRequestData? {
        guard modifiers.contains(where: { $0.stackPart.roles.contains(.caching) }) else { return nil }
        // The stack has rewritten the request before, so it cannot replace the mode.
        var lookup = request
        guard lookup.method.mayUseStored, !lookup.hasUnkeyedBody, lookup.readsCache else { return nil }
        lookup.cacheMode = .onlyIfCached
        lookup.isThrottled = false
        lookup.sink = nil
        lookup.progressHandler = nil
        return lookup
    }

    /// Runs a lookup without retries, because a cache without the response reports a 504.
    private func withoutRetries<Value>(
        _ lookup: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        var environment = NetworkEnvironment.current
        environment.retries = .off
        return try await withEnvironment(environment, lookup)
    }
}

/// The stored response to a request, and then the server's response if it differs.
public struct StoredThenFresh<Element: Sendable>: AsyncSequence, Sendable {
    /// Rewrites the request for both responses, and notes the user for whom they are.
    fileprivate let route: @Sendable () -> HTTPRequestData
    fileprivate let stored: @Sendable (HTTPRequestData) async throws -> Element?
    fileprivate let fresh: @Sendable (HTTPRequestData) async throws -> Element
    fileprivate let response: @Sendable (Element) -> HTTPResponseData

    /// Starts with the stored response.
    public func makeAsyncIterator() -> Iterator {
        Iterator(source: self)
    }

    /// Reads the stored response, and then the server's.
    public struct Iterator: AsyncIteratorProtocol {
        private enum Step {
            case stored
            case fresh
            case over
        }

        private let source: StoredThenFresh
        /// The request as the stack has rewritten it.
        private let request: HTTPRequestData
        private var step = Step.stored
        private var shown: HTTPResponseData?

        fileprivate init(source: StoredThenFresh) {
            self.source = source
            request = source.route()
        }

        /// Returns the next element; `nil` after the last.
        ///
        /// - Throws: The error of the request to the server, or `CancellationError` if the caller is cancelled.
        public mutating func next() async throws -> Element? {
            if step == .stored {
                step = .fresh
                if let stored = try await storedElement() {
                    shown = source.response(stored)
                    return stored
                }
            }
            guard step == .fresh else { return nil }
            step = .over
            let fresh = try await source.fresh(request)
            if let shown, shown.hasSameContent(as: source.response(fresh)) { return nil }
            return fresh
        }

        /// Returns the stored element; `nil` if there is none or if it cannot be used.
        private func storedElement() async throws -> Element? {
            do {
                return try await source.stored(request)
            } catch {
                try Task.checkCancellation()
                return nil
            }
        }
    }
}

extension HTTPRequestData {
    /// The request that asks the server whether the stored response is valid.
    fileprivate var validating: HTTPRequestData {
        var fresh = self
        fresh.sink = nil
        if fresh.readsCache {
            fresh.cacheMode = .noCache
        }
        return fresh
    }

    /// Whether the request's mode lets a cache use a stored response.
    fileprivate var readsCache: Bool {
        cacheMode != .noStore && cacheMode != .reload
    }
}

extension HTTPResponseData {
    /// Whether another response would be shown in the same way.
    fileprivate func hasSameContent(as other: HTTPResponseData) -> Bool {
        status.code == other.status.code && headerFields[.contentType] == other.headerFields[.contentType]
            && data == other.data
    }
}

public import NetworkingCore

/// The result of a call together with its request and its response, also if the call failed.
///
/// ```swift
/// network.callResult(of: .user(id: 42), on: .main) { call in
///     label.text = call.value?.name ?? "Status \(call.response?.status.code ?? 0)"
/// }
/// ```
public struct CallResult<Value: Sendable>: Sendable {
    /// The value, or the error that `value` with a typed request throws.
    public let result: Result<Value, any Error>

    /// The request, as the app created it.
    public let request: HTTPRequestData

    /// The response; `nil` if the call failed without one.
    public let response: HTTPResponseData?

    init(_ result: Result<(body: Value, response: HTTPResponseData), any Error>, of request: HTTPRequestData) {
        self.request = request
        switch result {
        case .success(let (body, response)): (self.result, self.response) = (.success(body), response)
        case .failure(let error): (self.result, response) = (.failure(error), error.networkingError?.response)
        }
    }

    /// The value; `nil` if the call failed.
    public var value: Value? {
        try? result.get()
    }

    /// The error; `nil` if the call succeeded.
    ///
    /// `error?.networkingError` is the library's error, with its kind.
    public var error: (any Error)? {
        if case .failure(let error) = result { error } else { nil }
    }

    /// Whether the call succeeded.
    public var isSuccess: Bool {
        error == nil
    }
}

extension CallResult: CustomStringConvertible, CustomReflectable {
    /// The response, or the request of a call without one, and the error of a failed call, without secrets.
    public var description: String {
        let call = response?.description ?? request.description
        return error.map { "\(call): \($0)" } ?? call
    }

    /// The contents of a dump, without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["description": description])
    }
}

extension NetworkingComponent {
    /// Sends a request and returns its decoded response or the error of the call, together with the response.
    ///
    /// - Parameter request: The request.
    /// - Returns: The result of the call.
    public func callResult<Response: Sendable>(of request: Request<Response>) async -> CallResult<Response> {
        do {
            return CallResult(.success(try await value(request)), of: request.http)
        } catch {
            return CallResult(.failure(error), of: request.http)
        }
    }

    /// Sends a request and passes the result of the call to a closure on the main actor, together with the response.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - main: The main queue, on which the closures run.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the result of the call.
    /// - Returns: A handle that can cancel the call; see `callback(queue:_:completion:)`.
    @discardableResult
    public func callResult<Response: Sendable>(
        of request: Request<Response>,
        on main: MainQueue,
        progress: (@MainActor (TransferProgress) -> Void)? = nil,
        completion: @escaping @MainActor (CallResult<Response>) -> Void
    ) -> CallHandle {
        callback(
            { try await $0.value(request.reporting(to: $1)) },
            progress: progress,
            completion: { completion(CallResult($0, of: request.http)) }
        )
    }
}

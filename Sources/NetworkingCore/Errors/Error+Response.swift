import Synchronization

extension HTTPRequestData {
    /// Returns the response that an error of this request is about; `nil` if there is none.
    ///
    /// A ``NetworkingError`` contains its response. `checkedStatusCode` may replace it by an error of the app, which
    /// does not. The request that a modifier has received still leads from that error to the response:
    ///
    /// ```swift
    /// func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
    ///     do {
    ///         return try await upstream.send(request)
    ///     } catch {
    ///         print(request.response(of: error)?.status.code ?? 0)
    ///         throw error
    ///     }
    /// }
    /// ```
    ///
    /// - Parameter error: The error with which sending the request has failed.
    /// - Returns: The response, possibly of an earlier attempt of the same request if the error is of the same type.
    public func response(of error: any Error) -> HTTPResponseData? {
        (error as? NetworkingError)?.response ?? refusedResponse?.response(of: error)
    }

    /// Returns the response of a result, which may be that of its error.
    package func response(in result: Result<HTTPResponseData, any Error>) -> HTTPResponseData? {
        switch result {
        case .success(let response): response
        case .failure(let error): response(of: error)
        }
    }

    /// The response that a modifier further in replaces by an error of the app; `nil` if no modifier does so.
    package var refusedResponse: RefusedResponse? {
        get { self[.refusedResponse] }
        set { self[.refusedResponse] = newValue }
    }
}

extension RequestOptionKey {
    fileprivate static let refusedResponse = RequestOption<RefusedResponse?>(
        "refusedResponse",
        default: nil,
        affects: .nothing,
        isSetByStack: true
    )
}

/// The last response of a request that was replaced by an error of the app, and that error's type.
///
/// An error is any value, so it cannot be recognised; its type distinguishes it from errors of other parts.
package final class RefusedResponse: Sendable {
    private let last = Mutex<(type: ObjectIdentifier, response: HTTPResponseData)?>(nil)

    package init() {}

    /// Records that a response is replaced by an error.
    package func record(_ response: HTTPResponseData, as error: any Error) {
        last.withLock { $0 = (Self.type(of: error), response) }
    }

    /// Forgets the response of an earlier attempt.
    func clear() {
        last.withLock { $0 = nil }
    }

    package func response(of error: any Error) -> HTTPResponseData? {
        last.withLock { last in last.flatMap { $0.type == Self.type(of: error) ? $0.response : nil } }
    }

    private static func type(of error: any Error) -> ObjectIdentifier {
        ObjectIdentifier(Swift.type(of: error))
    }
}

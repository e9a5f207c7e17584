import FoundationForNetworking
import HTTPTypes
public import NetworkingCore

/// One attempt of a request that was retried or that a strategy decides about.
public struct Attempt: Sendable {
    /// The number of the attempt, from 1.
    public let number: Int

    /// The response, or the error that was thrown.
    ///
    /// The body of a discarded response is cut to its first 4 KiB, including the body of a response in an error.
    public let result: Result<HTTPResponseData, any Error>

    /// The duration of the attempt.
    public let elapsed: Duration

    /// The delay after the attempt; `nil` until a retry is decided.
    public package(set) var backoff: Duration?

    /// The response that a part of the stack has replaced by an error of the app; `nil` if none has.
    package var refusedResponse: HTTPResponseData?

    /// Whether `retry` has added the `Idempotency-Key` of the request.
    var hasNewKey: Bool

    package init(
        number: Int,
        result: Result<HTTPResponseData, any Error>,
        elapsed: Duration,
        backoff: Duration? = nil,
        refusedResponse: HTTPResponseData? = nil,
        hasNewKey: Bool = false
    ) {
        self.number = number
        self.result = result
        self.elapsed = elapsed
        self.backoff = backoff
        self.refusedResponse = refusedResponse
        self.hasNewKey = hasNewKey
    }

    /// The response, which an error may be about (``HTTPRequestData/response(of:)``); `nil` if there was none.
    public var response: HTTPResponseData? {
        switch result {
        case .success(let response): response
        case .failure(let error): (error as? NetworkingError)?.response ?? refusedResponse
        }
    }

    /// The error; `nil` if a response was returned.
    public var error: (any Error)? {
        switch result {
        case .success: nil
        case .failure(let error): error
        }
    }
}

extension Attempt {
    private static let maximumBody = 4 << 10

    /// Returns the attempt with the actual delay after it.
    func followed(by wait: Duration) -> Attempt {
        var attempt = self
        attempt.backoff = wait
        return attempt
    }

    /// Returns the attempt for a history, with its body cut to save memory.
    package func trimmed(backoff: Duration) -> Attempt {
        let result: Result<HTTPResponseData, any Error> =
            switch result {
            case .success(let response): .success(response.trimmed(to: Self.maximumBody))
            case .failure(let error as NetworkingError): .failure(error.trimmed(to: Self.maximumBody))
            case .failure(let error): .failure(error)
            }
        return Attempt(
            number: number,
            result: result,
            elapsed: elapsed,
            backoff: backoff,
            refusedResponse: refusedResponse?.trimmed(to: Self.maximumBody)
        )
    }
}

extension HTTPResponseData {
    fileprivate func trimmed(to count: Int) -> HTTPResponseData {
        guard case .collected(let data) = body, data.count > count else { return self }
        var response = self
        response.body = .collected(Data(data.prefix(count)))
        return response
    }
}

extension NetworkingError {
    /// Returns the error with its response's body cut, and those of the underlying errors.
    fileprivate func trimmed(to count: Int) -> NetworkingError {
        var error = self
        error.response = response?.trimmed(to: count)
        if let underlying = underlying as? NetworkingError {
            error.underlying = underlying.trimmed(to: count)
        }
        return error
    }
}

extension [Attempt] {
    /// Returns these attempts followed by the exchanges that the transport repeated itself.
    fileprivate func followed(by exchanges: [RepeatedExchange]) -> [Attempt] {
        guard !exchanges.isEmpty else { return self }
        return followed(
            by: exchanges.map { exchange in
                Attempt(number: 0, result: .failure(exchange.error), elapsed: exchange.elapsed, backoff: .zero)
            }
        )
    }

    /// Returns these attempts followed by others, which are numbered consecutively after them.
    func followed(by others: [Attempt]) -> [Attempt] {
        let last = last?.number ?? 0
        return self
            + zip(1..., others)
            .map { index, attempt in
                Attempt(
                    number: last + index,
                    result: attempt.result,
                    elapsed: attempt.elapsed,
                    backoff: attempt.backoff,
                    refusedResponse: attempt.refusedResponse
                )
            }
    }
}

extension Attempt: CustomStringConvertible, CustomReflectable {
    /// The outcome and the delay after it, without secrets: `1: 503 after 0.1 ms, waited 200.0 ms`.
    public var description: String {
        let outcome =
            switch result {
            case .success(let response): "\(response.status.code)"
            case .failure(let error as NetworkingError):
                error.kind.rawValue + (error.response.map { " \($0.status.code)" } ?? "")
            case .failure(let error): "\(type(of: error))" + (response.map { " \($0.status.code)" } ?? "")
            }
        return "\(number): \(outcome) after \(elapsed.milliseconds)"
            + (backoff.map { ", waited \($0.milliseconds)" } ?? "")
    }

    /// The mirror for `dump`, without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["attempt": description])
    }
}

extension HTTPResponseData {
    /// The attempts before the attempt that returned this response, oldest first; empty if it was the first.
    ///
    /// They include exchanges that the transport repeated because a reused connection closed before the response. If
    /// there are more than 100, the first 10 and the last 90 are kept, and ``Attempt/number`` shows the gap.
    public internal(set) var attempts: [Attempt] {
        get { self[metadata: AttemptsKey.self].followed(by: repeatedExchanges) }
        set {
            self[metadata: AttemptsKey.self] = newValue
            if !repeatedExchanges.isEmpty { repeatedExchanges = [] }
        }
    }
}

extension NetworkingError {
    /// The attempts before the attempt that failed with this error, oldest first; empty if it was the first.
    ///
    /// If there are more than 100, the first 10 and the last 90 are kept, and ``Attempt/number`` shows the gap.
    public internal(set) var attempts: [Attempt] {
        get { self[metadata: AttemptsKey.self].followed(by: repeatedExchanges) }
        set {
            self[metadata: AttemptsKey.self] = newValue
            if !repeatedExchanges.isEmpty { repeatedExchanges = [] }
        }
    }
}

private enum AttemptsKey: ResponseMetadata {
    static let defaultValue: [Attempt] = []
}

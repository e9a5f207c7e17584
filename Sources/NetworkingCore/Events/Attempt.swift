import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One try of a request that was tried again, or is to be decided about.
public struct Attempt: Sendable {
    /// Which one it was, from 1.
    public let number: Int

    /// What it brought: a response, or the error that was thrown.
    ///
    /// The body of a response that was discarded is cut to its first 4 KiB, also that of a response in an error.
    public let result: Result<HTTPResponseData, any Error>

    /// How long it took.
    public let elapsed: Duration

    /// How long was waited after it; nil as long as nobody has decided to.
    public package(set) var backoff: Duration?

    package init(number: Int, result: Result<HTTPResponseData, any Error>, elapsed: Duration, backoff: Duration? = nil)
    {
        self.number = number
        self.result = result
        self.elapsed = elapsed
        self.backoff = backoff
    }

    /// The response, which a `NetworkingError` may have, too; nil when there was none.
    public var response: HTTPResponseData? {
        switch result {
        case .success(let response): response
        case .failure(let error): (error as? NetworkingError)?.response
        }
    }

    /// The error; nil when a response was returned.
    public var error: (any Error)? {
        switch result {
        case .success: nil
        case .failure(let error): error
        }
    }
}

extension Attempt {
    private static let maximumBody = 4 << 10

    /// The attempt as part of a history, which must not hold on to every body.
    package func trimmed(backoff: Duration) -> Attempt {
        let result: Result<HTTPResponseData, any Error> =
            switch result {
            case .success(let response): .success(response.trimmed(to: Self.maximumBody))
            case .failure(let error as NetworkingError): .failure(error.trimmed(to: Self.maximumBody))
            case .failure(let error): .failure(error)
            }
        return Attempt(number: number, result: result, elapsed: elapsed, backoff: backoff)
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
    /// The error with the bodies of its response, and of those in the errors beneath it, cut.
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
    /// Returns these attempts and then others, whose numbers go on from the last of these.
    package func followed(by others: [Attempt]) -> [Attempt] {
        let last = last?.number ?? 0
        return self
            + zip(1..., others)
            .map { index, attempt in
                Attempt(
                    number: last + index,
                    result: attempt.result,
                    elapsed: attempt.elapsed,
                    backoff: attempt.backoff
                )
            }
    }
}

extension Attempt: CustomStringConvertible, CustomReflectable {
    /// What it brought and how long was waited then, without secrets: `1: 503 after 0.1 ms, waited 200.0 ms`.
    public var description: String {
        let outcome =
            switch result {
            case .success(let response): "\(response.status.code)"
            case .failure(let error as NetworkingError):
                error.kind.rawValue + (error.response.map { " \($0.status.code)" } ?? "")
            case .failure(let error): "\(type(of: error))"
            }
        return "\(number): \(outcome) after \(elapsed.milliseconds)"
            + (backoff.map { ", waited \($0.milliseconds)" } ?? "")
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["attempt": description])
    }
}

extension HTTPResponseData {
    /// The attempts before the one that brought this response, oldest first; empty when it was the first.
    ///
    /// Of more than 100 the first 10 and the last 90 are kept. Their ``Attempt/number`` shows the gap.
    /// Among them are those that the transport repeated by itself, because a kept connection ended before the response.
    public package(set) var attempts: [Attempt] {
        get { self[metadata: AttemptsKey.self] }
        set { self[metadata: AttemptsKey.self] = newValue }
    }
}

extension NetworkingError {
    /// The attempts before the one that failed with this, oldest first; empty when it was the first.
    ///
    /// Of more than 100 the first 10 and the last 90 are kept. Their ``Attempt/number`` shows the gap.
    public package(set) var attempts: [Attempt] {
        get { self[metadata: AttemptsKey.self] }
        set { self[metadata: AttemptsKey.self] = newValue }
    }
}

private enum AttemptsKey: ResponseMetadata {
    static let defaultValue: [Attempt] = []
}

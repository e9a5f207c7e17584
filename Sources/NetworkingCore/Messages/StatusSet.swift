public import HTTPTypes

/// A set of status codes.
///
/// ```swift
/// request.acceptedStatuses = .successful.union([404])
/// request.acceptedStatuses = StatusSet(200...399)
/// ```
public struct StatusSet: Sendable, Hashable, ExpressibleByArrayLiteral {
    /// In order and apart, so that equal sets are equal however they were made.
    package let ranges: [ClosedRange<Int>]

    /// 200 to 299.
    public static let successful = StatusSet(200...299)

    /// Every status code, which makes none an error.
    public static let all = StatusSet(0...Int.max)

    /// Creates a set from ranges.
    ///
    /// - Parameter ranges: The ranges of codes that are in it.
    public init(_ ranges: ClosedRange<Int>...) {
        self.init(merging: ranges)
    }

    package init(merging ranges: [ClosedRange<Int>]) {
        var merged: [ClosedRange<Int>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, last.upperBound >= range.lowerBound || last.upperBound + 1 == range.lowerBound {
                merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        self.ranges = merged
    }

    /// Creates a set of single codes.
    public init(arrayLiteral codes: Int...) {
        self.init(merging: codes.map { $0...$0 })
    }

    /// Makes a set of what is in either.
    ///
    /// - Parameter other: The other set.
    /// - Returns: The union.
    public func union(_ other: StatusSet) -> StatusSet {
        StatusSet(merging: ranges + other.ranges)
    }

    /// Tells whether a status is in the set.
    ///
    /// - Parameter status: The status.
    /// - Returns: Whether its code is in it.
    public func contains(_ status: HTTPResponse.Status) -> Bool {
        ranges.contains { $0.contains(status.code) }
    }
}

extension HTTPResponse.Status {
    /// Code and phrase; the code alone where there is no phrase.
    package var text: String {
        reasonPhrase.isEmpty ? "\(code)" : "\(code) \(reasonPhrase)"
    }

    /// Whether the request succeeded: 200 to 299.
    public var isSuccess: Bool {
        kind == .successful
    }

    /// Whether the request failed: 400 to 599.
    public var isFailure: Bool {
        kind == .clientError || kind == .serverError
    }

    /// Whether the server failed: 500 to 599.
    public var isServerError: Bool {
        kind == .serverError
    }
}

extension HTTPResponse.Status {
    /// The status of a code with the reason phrase that RFC 9110 gives it, for transports that do not hand out the
    /// server's.
    package init(standard code: Int) {
        self = Self.standard[code] ?? HTTPResponse.Status(code: code)
    }

    private static let standard: [Int: HTTPResponse.Status] = {
        let statuses: [HTTPResponse.Status] = [
            .ok, .created, .accepted, .nonAuthoritativeInformation, .noContent, .resetContent, .partialContent,
            .multipleChoices, .movedPermanently, .found, .seeOther, .notModified, .temporaryRedirect,
            .permanentRedirect,
            .badRequest, .unauthorized, .forbidden, .notFound, .methodNotAllowed, .notAcceptable,
            .proxyAuthenticationRequired, .requestTimeout, .conflict, .gone, .lengthRequired, .preconditionFailed,
            .contentTooLarge, .uriTooLong, .unsupportedMediaType, .rangeNotSatisfiable, .expectationFailed,
            .misdirectedRequest, .unprocessableContent, .tooEarly, .upgradeRequired, .preconditionRequired,
            .tooManyRequests, .requestHeaderFieldsTooLarge, .unavailableForLegalReasons, .internalServerError,
            .notImplemented, .badGateway, .serviceUnavailable, .gatewayTimeout, .httpVersionNotSupported,
            .networkAuthenticationRequired,
        ]
        return Dictionary(uniqueKeysWithValues: statuses.map { ($0.code, $0) })
    }()
}

public import HTTPTypes

/// A set of status codes.
///
/// ```swift
/// request.acceptedStatuses = .successful.union([404])
/// request.acceptedStatuses = [.ok, .created, 404]
/// request.acceptedStatuses = StatusSet(200...399)
/// ```
public struct StatusSet: Sendable, Hashable, ExpressibleByArrayLiteral {
    /// Sorted, disjoint ranges that do not touch, so that equal sets compare as equal however they were created.
    package let ranges: [ClosedRange<Int>]

    /// 200 to 299.
    public static let successful = StatusSet(200...299)

    /// Every status code, so that no status is an error.
    public static let all = StatusSet(0...Int.max)

    /// Creates a set from ranges.
    ///
    /// - Parameter ranges: The ranges of codes in the set.
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

    /// Creates a set from single statuses, by name or by code.
    public init(arrayLiteral statuses: HTTPResponse.Status...) {
        self.init(merging: statuses.map { $0.code...$0.code })
    }

    /// Returns the union of this set and another one.
    ///
    /// - Parameter other: The other set.
    /// - Returns: The union.
    public func union(_ other: StatusSet) -> StatusSet {
        StatusSet(merging: ranges + other.ranges)
    }

    /// Returns whether a status is in the set.
    ///
    /// - Parameter status: The status.
    /// - Returns: `true` if the code of the status is in the set.
    public func contains(_ status: HTTPResponse.Status) -> Bool {
        ranges.contains { $0.contains(status.code) }
    }
}

extension HTTPResponse.Status {
    /// The code and phrase, or only the code if there is no phrase.
    package var text: String {
        reasonPhrase.isEmpty ? "\(code)" : "\(code) \(reasonPhrase)"
    }

    /// Whether the response is an interim one: 100 to 199.
    public var isInformational: Bool {
        kind == .informational
    }

    /// Whether the response redirects the client: 300 to 399.
    public var isRedirection: Bool {
        kind == .redirection
    }

    /// Whether the server refused the request: 400 to 499.
    public var isClientError: Bool {
        kind == .clientError
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
    /// Creates a status with the reason phrase of RFC 9110, for transports that do not report the server's phrase.
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

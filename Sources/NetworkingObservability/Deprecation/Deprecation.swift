public import FoundationForNetworking
import HTTPTypes
public import NetworkingCore

/// The server's announcement that a resource is deprecated or ends.
///
/// ```swift
/// if let end = response.deprecation?.sunset, end < .now.addingTimeInterval(30 * 86_400) {
///     print("\(response.url?.path() ?? "") ends on \(end)")
/// }
/// ```
///
/// Dates outside of the years 1970 to 9999 are ignored, and so are links to anything but http and https URLs. The dates
/// are not compared with each other: a sunset before the deprecation is a mistake of the server to ask about (RFC 9745
/// section 5).
public struct Deprecation: Sendable, Hashable {
    /// Whether the response has the field `Deprecation`; `false` if it only has `Sunset`.
    public let isDeprecated: Bool
    /// The date since which the resource is deprecated, or from which it will be; `nil` if there is none.
    public let date: Date?
    /// The date after which the resource is likely to be unavailable; `nil` if there is none.
    public let sunset: Date?
    /// The explanation for developers, the link with the relation `deprecation`; `nil` if there is none.
    public let documentation: URL?
    /// The server's policy for the end of resources, the link with the relation `sunset`; `nil` if there is none.
    public let sunsetPolicy: URL?
    /// The resource to use instead, the link with the relation `successor-version` (RFC 5829); `nil` if there is none.
    public let successor: URL?

    /// The dates for texts: `since 2026-06-30, ends on 2027-06-30`; `nil` if there are none.
    var dates: String? {
        let texts = [date.map { "since \($0.day)" }, sunset.map { "ends on \($0.day)" }].compactMap { $0 }
        return texts.isEmpty ? nil : texts.joined(separator: ", ")
    }
}

extension HTTPResponseData {
    /// The server's announcement that the resource is deprecated or ends; `nil` if there is none.
    ///
    /// The fields are `Deprecation` (RFC 9745) and `Sunset` (RFC 8594), with the links of `Link` (RFC 8288). The values
    /// of older drafts of RFC 9745, `true` and a date of HTTP, are read, too. A malformed or repeated field is ignored.
    public var deprecation: Deprecation? {
        guard headerFields.announceDeprecation else { return nil }
        let (isDeprecated, date) = headerFields.deprecationDate
        let sunset = headerFields[singleton: .sunset].flatMap { Date(announced: $0.trimmed) }
        guard isDeprecated || sunset != nil else { return nil }
        return Deprecation(
            isDeprecated: isDeprecated,
            date: date,
            sunset: sunset,
            documentation: link("deprecation"),
            sunsetPolicy: link("sunset"),
            successor: link("successor-version")
        )
    }

    /// Returns the target of a link; `nil` if there is none, or one that is no http or https URL.
    private func link(_ relation: String) -> URL? {
        guard let target = try? LinkField.target(of: relation, in: headerFields), !target.isEmpty,
            let url = URL(reference: target, relativeTo: self.url),
            let scheme = url.scheme?.lowercased(), scheme == "https" || scheme == "http", url.host()?.isEmpty == false
        else { return nil }
        return url
    }
}

extension HTTPFields {
    /// Whether one of the fields is present, valid or not.
    var announceDeprecation: Bool {
        contains { $0.name == .deprecation || $0.name == .sunset }
    }

    /// Whether the resource is deprecated, and the date.
    fileprivate var deprecationDate: (isDeprecated: Bool, date: Date?) {
        guard let text = self[singleton: .deprecation]?.trimmed, text.utf8.count <= 256 else { return (false, nil) }
        switch StructuredItem.item(String(text))?.value {
        case .date(let seconds):
            let date = Date(timeIntervalSince1970: Double(seconds)).announced
            return (date != nil, date)
        // The values of draft-ietf-httpapi-deprecation-header-02.
        case .boolean(true), .token("true"): return (true, nil)
        default:
            let date = Date(announced: text)
            return (date != nil, date)
        }
    }
}

extension Date {
    /// Reads a date of HTTP from 1970 on.
    fileprivate init?(announced text: some StringProtocol) {
        guard text.utf8.count <= 64, let date = Date(httpDate: text)?.announced else { return nil }
        self = date
    }

    /// The date; `nil` if it is outside of the years 1970 to 9999.
    fileprivate var announced: Date? {
        (0...253_402_300_799).contains(timeIntervalSince1970) ? self : nil
    }

    /// The day in UTC: `2026-06-30`.
    fileprivate var day: String {
        formatted(.iso8601.year().month().day())
    }
}

extension HTTPField.Name {
    fileprivate static let deprecation = Self("Deprecation")!
    fileprivate static let sunset = Self("Sunset")!
}

/// A value with secrets, whose descriptions, dumps and mirrors show none of its contents.
///
/// ```swift
/// struct Ticket: RedactedDescription {
///     let number: String
/// }
///
/// print(Ticket(number: "17"))  // Ticket(<redacted>)
/// ```
///
/// Credentials and signers conform to it. A type may have descriptions of its own.
public protocol RedactedDescription: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension RedactedDescription {
    /// The type, without any of its contents.
    public var description: String {
        "\(Self.self)(<redacted>)"
    }

    /// The same as the description.
    public var debugDescription: String {
        description
    }

    /// The mirror for `dump`, without children.
    public var customMirror: Mirror {
        Mirror(self, children: [:])
    }
}

import NetworkingCore
import NetworkingInspector

extension Cassette.Interaction {
    /// Creates an interaction from an archive entry.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - isForeign: Whether another tool wrote the entry.
    init(_ entry: HAR.Entry, isForeign: Bool) {
        request = Request(entry)
        response = Response(entry, isForeign: isForeign)
        date = entry.date
        duration = entry.duration
        user = entry.user
    }

    /// Creates the archive entry of the interaction.
    ///
    /// - Parameter redaction: The redaction to apply; nil if everything is already redacted.
    /// - Returns: The entry.
    func entry(redacting redaction: Redaction?) -> HAR.Entry {
        HAR.Entry(request, response, date: date, duration: duration, user: user, redacting: redaction)
    }
}

extension Cassette.Interaction.Request: ArchivedRequest {}

extension Cassette.Interaction.Response: ArchivedResponse {}

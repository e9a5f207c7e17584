/// A message from a modifier or a transport to the listeners of a request, in words.
///
/// ```swift
/// request.emit(NetworkNote("compressed 4096 bytes to 512"))
/// ```
///
/// Declare a ``NetworkEvent`` of your own for something that a listener reacts to.
public struct NetworkNote: NetworkEvent, Hashable {
    /// The message, without secrets.
    public let text: String

    /// Creates a note.
    ///
    /// - Parameter text: The message, without secrets.
    public init(_ text: String) {
        self.text = text
    }

    /// The record, named by the message in one line.
    public var record: EventRecord {
        EventRecord(PrintableText.singleLine(text))
    }
}

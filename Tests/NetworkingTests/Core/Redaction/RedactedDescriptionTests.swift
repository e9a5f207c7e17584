import Networking
import Testing

struct RedactedDescriptionTests {
    private struct Ticket: RedactedDescription {
        let number = "hunter2"
    }

    @Test func descriptionsAndDumpsShowOnlyTheType() {
        let ticket = Ticket()
        var dumped = ""
        dump([ticket], to: &dumped)
        #expect(ticket.description == "Ticket(<redacted>)")
        #expect(ticket.debugDescription == "Ticket(<redacted>)")
        #expect(ticket.customMirror.children.isEmpty)
        #expect(!"\(ticket) \(String(reflecting: ticket)) \(dumped)".contains(ticket.number))
    }
}

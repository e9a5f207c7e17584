import Networking
import Testing

@Suite
struct TraceStateTests {
    private static func members(_ count: Int) -> String {
        (1...count).map { "k\($0)=v\($0)" }.joined(separator: ",")
    }

    /// The valid fields of W3C Trace Context, Level 2, section 3.3.
    @Test(arguments: [
        ("foo=1", "foo=1"), ("foo=1,bar=2", "foo=1,bar=2"), ("", ""), (",", ""), (" ", ""),
        // Whitespace around members and empty members are ignored.
        ("foo=1 \t , \t bar=2", "foo=1,bar=2"), ("foo=1,,bar=2", "foo=1,bar=2"), ("foo=1, ,bar=2,", "foo=1,bar=2"),
        // A space before a value is part of it.
        ("foo= 1", "foo= 1"), ("foo=a b", "foo=a b"),
        // The first of several members with the same key is used.
        ("foo=1,bar=2,foo=3", "foo=1,bar=2"), ("foo=1,foo=1", "foo=1"),
        // Keys start with a lower-case letter or a digit.
        ("1a-_*/@z=1", "1a-_*/@z=1"), ("fw529a3039@dt=FfU4", "fw529a3039@dt=FfU4"), ("0=1", "0=1"), ("a@=1", "a@=1"),
        (String(repeating: "z", count: 256) + "=1", String(repeating: "z", count: 256) + "=1"),
        // Values have printable characters other than commas and equals signs.
        ("a=!\"#$%&'()*+-./0:;<>?@A[\\]^_`z{|}~", "a=!\"#$%&'()*+-./0:;<>?@A[\\]^_`z{|}~"),
        ("a=" + String(repeating: "v", count: 256), "a=" + String(repeating: "v", count: 256)),
        (members(32), members(32)),
    ])
    func valid(text: String, passedOn: String) {
        #expect(TraceState(text)?.description == passedOn)
    }

    @Test(arguments: [
        "foo", "=1", "foo=", "foo=1=2", "foo =1", "FOO=1", "foo.bar=1", "foo@ bar=1", "@foo=1", "_a=1", "-a=1", "*a=1",
        "/a=1",
        "föö=1", "foo=é", "foo=\u{7f}", "foo=a\tb", "foo=1,bar", "foo=1;bar=2=3", "foo=1,=2",
        String(repeating: "z", count: 257) + "=1", "a=" + String(repeating: "v", count: 257), members(33),
        // Duplicate members count towards the limit before they are removed.
        members(32) + ",k1=again",
    ])
    func invalid(text: String) {
        #expect(TraceState(text) == nil)
    }

    @Test func severalFieldsFormOneList() {
        #expect(TraceState(fields: ["foo=1", "", "bar=2,foo=3"])?.description == "foo=1,bar=2")
        #expect(TraceState(fields: ["foo=1", "BAR=2"]) == nil)
        #expect(TraceState(fields: [])?.members.isEmpty == true)
        #expect(TraceState(fields: [Self.members(20), Self.members(13)]) == nil)
    }

    @Test func memberThatIsSetMovesToTheFront() {
        var state = TraceState("congo=1,rojo=2") ?? TraceState()
        state["rojo"] = "3"
        #expect(state.description == "rojo=3,congo=1")
        state["new"] = "4"
        #expect(state.description == "new=4,rojo=3,congo=1")
        state["rojo"] = nil
        #expect(state.description == "new=4,congo=1")
        #expect(state["congo"] == "1")
        #expect(state["rojo"] == nil)
        state["Bad"] = "1"
        state["bad"] = "a,b"
        state["bad"] = ""
        state["bad"] = "a "
        #expect(state.description == "new=4,congo=1")
    }

    @Test func newMemberRemovesTheLastOfAFullList() {
        var state = TraceState(Self.members(32)) ?? TraceState()
        state["new"] = "1"
        #expect(state.members.count == 32)
        #expect(state.members.first?.key == "new")
        #expect(state.members.last?.key == "k31")
        state["k31"] = "2"
        #expect(state.members.count == 32)
        #expect(state.members.last?.key == "k30")
    }

    @Test func longMembersAreRemovedBeforeTheLast() {
        let long = "long=" + String(repeating: "x", count: 200)
        let state = TraceState("a=1,\(long),b=2,c=3") ?? TraceState()
        #expect(state.shortened(to: 512) == state)
        #expect(state.shortened(to: 211).description == "a=1,b=2,c=3")
        #expect(state.shortened(to: 11).description == "a=1,b=2,c=3")
        #expect(state.shortened(to: 10).description == "a=1,b=2")
        #expect(state.shortened(to: 0).description.isEmpty)
        #expect(state.shortened(to: state.description.utf8.count) == state)
    }
}

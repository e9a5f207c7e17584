import HTTPTypes
import Networking
import Testing

/// Trace contexts that an app creates itself.
@Suite
struct TraceValuesTests {
    private typealias Member = TraceState.Member

    @Test(arguments: [
        ("congo", "t61rcWkgMzE"), ("fw529a3039@dt", "a b"), ("1a-b_c*d/e", "~!"),
    ])
    func memberHasAKeyAndAValue(key: String, value: String) throws {
        let member = try #require(TraceState.Member(key: key, value: value))
        #expect(member.key == key)
        #expect(member.value == value)
        #expect("\(member)" == "\(key)=\(value)")
    }

    @Test(arguments: [
        ("", "a"), ("Upper", "a"), ("a b", "a"), ("_a", "a"), ("a", "b,c"), ("a", "b=c"), ("a", "b "), ("a", "é"),
        ("a", String(repeating: "b", count: 257)), (String(repeating: "a", count: 257), "b"),
    ])
    func invalidMemberIsNil(key: String, value: String) {
        #expect(TraceState.Member(key: key, value: value) == nil)
    }

    @Test func numberOfMembersIsLimited() throws {
        #expect(TraceState.maximumMembers == 32)
        let members = (1...TraceState.maximumMembers).map { "k\($0)=\($0)" }
        var state = try #require(TraceState(members.joined(separator: ",")))
        #expect(TraceState((members + ["other=1"]).joined(separator: ",")) == nil)
        state["new"] = "1"
        #expect(state.members.count == TraceState.maximumMembers)
        #expect(state.members.first?.key == "new")
        #expect(state["k31"] == "31")
        #expect(state["k32"] == nil)
    }

    @Test func contextOfTheAppIsSent() throws {
        let traceID = try #require(TraceParent.TraceID(high: 0x0af7_6519_16cd_43dd, low: 0x8448_eb21_1c80_319c))
        let parentID = try #require(TraceParent.ParentID(bytes: 0xb7ad_6b71_6920_3331))
        let parent = TraceParent(traceID: traceID, parentID: parentID, flags: [.sampled])
        #expect("\(parent)" == "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        #expect(parent.isSampled)
        #expect(!TraceParent(traceID: traceID, parentID: parentID).isSampled)
        var state = TraceState()
        state["shop"] = "7"
        let fields = TraceContext(parent: parent, state: state).headerFields
        #expect(fields[try #require(HTTPField.Name("traceparent"))] == "\(parent)")
        #expect(fields[try #require(HTTPField.Name("tracestate"))] == "shop=7")
        #expect(TraceContext(parent: parent).headerFields.count == 1)
        #expect(TraceContext(headerFields: fields) == TraceContext(parent: parent, state: state))
    }
}

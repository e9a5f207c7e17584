import Networking
import NetworkingTesting
import Testing

/// The outline of a stack as a tree and as a flowchart.
@Suite
struct OutlineTests {
    private let mirror = AnyNetworkingComponent(
        MockTransport().timeout(.seconds(5)).server(authority: "b.example")
    )

    /// A modifier that sends through one of several stacks.
    private struct Switched: NetworkingModifier, CustomStringConvertible {
        let branches: [any NetworkingComponent]
        var description = "switched"

        var stackPart: StackPart {
            StackPart(branches: branches)
        }
    }

    /// The outermost component of a preset of an app.
    private struct Preset: ForwardingComponent {
        let upstream: any NetworkingComponent
        let name: String
        let count: Int

        var stackPart: StackPart {
            StackPart(name: name, groupedModifiers: count)
        }
    }

    @Test func otherStackOfAPartIsABranch() {
        let network = MockTransport().retry(.never, budget: .unlimited).fallback(to: mirror).numbered()

        #expect(
            network.outline == """
                numbered
                fallback(to:)
                ├─ server(authority: "b.example")
                ├─ timeout(5.0 seconds)
                └─ MockTransport
                retry(never, budget: unlimited)
                MockTransport
                """
        )
        #expect(
            network.diagram == """
                flowchart TD
                    p1["numbered"]
                    p2["fallback(to:)"]
                    p3["server(authority: #34;b#46;example#34;)"]
                    p4["timeout(5.0 seconds)"]
                    p5["MockTransport"]
                    p6["retry(never, budget: unlimited)"]
                    p7["MockTransport"]
                    p1 --> p2
                    p2 -.-> p3
                    p3 --> p4
                    p4 --> p5
                    p2 --> p6
                    p6 --> p7
                """
        )
    }

    @Test func severalStacksOfAPartAreNumbered() {
        let inner = MockTransport().modified(Switched(branches: [MockTransport(), mirror]))
        let network = MockTransport().modified(Switched(branches: [inner, MockTransport()])).numbered()

        #expect(
            network.outline == """
                numbered
                switched
                ├─ branch 1
                │  ├─ switched
                │  │  ├─ branch 1
                │  │  │  └─ MockTransport
                │  │  └─ branch 2
                │  │     ├─ server(authority: "b.example")
                │  │     ├─ timeout(5.0 seconds)
                │  │     └─ MockTransport
                │  └─ MockTransport
                └─ branch 2
                   └─ MockTransport
                MockTransport
                """
        )
        #expect(network.requestOptions.contains(.timeout))
    }

    @Test func partsOfAPresetAreItsChildren() {
        let inner = Preset(upstream: MockTransport().numbered().numbered(), name: "inner", count: 1)
        let network = Preset(upstream: inner.checkedStatusCode(), name: "outer", count: 2).numbered()

        #expect(
            network.outline.split(separator: "\n").dropFirst() == [
                "outer",
                "├─ checkedStatusCode",
                "└─ inner",
                "   └─ numbered",
                "numbered",
                "MockTransport",
            ]
        )
        #expect(
            Preset(upstream: inner.checkedStatusCode(), name: "outer", count: 2).numbered().diagram == """
                flowchart TD
                    p1["numbered"]
                    subgraph p2["outer"]
                        p3["checkedStatusCode"]
                        subgraph p4["inner"]
                            p5["numbered"]
                        end
                    end
                    p6["numbered"]
                    p7["MockTransport"]
                    p1 --> p3
                    p3 --> p5
                    p5 --> p6
                    p6 --> p7
                """
        )
    }

    @Test(arguments: [
        ("end", "end"),
        ("a \"quoted\" name", "a #34;quoted#34; name"),
        ("<b>&amp;</b>", "#60;b#62;#38;amp#59;#60;#47;b#62;"),
        ("1. a list", "#49;#46; a list"),
        ("1) a list", "#49;) a list"),
        ("- a list", "#45; a list"),
        ("    code", "#32;   code"),
        ("`code` *bold* _it_ ~s~", "#96;code#96; #42;bold#42; #95;it#95; #126;s#126;"),
        ("https://www.example.com/a@b", "https:#47;#47;www#46;example#46;com#47;a#64;b"),
        ("a --> b; c{d}[e]|f|", "a #45;#45;#62; b#59; c#123;d#125;#91;e#93;#124;f#124;"),
        ("#quot;\\n", "#35;quot#59;#92;n"),
        ("1.5 of 2.", "#49;.5 of 2#46;"),
        ("Übung 日本", "#220;bung 日本"),
        ("a\nsubgraph b\n end\u{202E}", "a\u{FFFD}subgraph b\u{FFFD} end\u{FFFD}"),
        ("", "#32;"),
    ])
    func diagramEscapesNames(name: String, label: String) {
        let network = MockTransport().modified(Switched(branches: [], description: name))

        #expect(network.diagram == "flowchart TD\n    p1[\"\(label)\"]\n    p2[\"MockTransport\"]\n    p1 --> p2")
    }

    /// A name with line breaks cannot add a part to the outline.
    @Test func outlineHasOneLineForEachPart() {
        let network = MockTransport().modified(Switched(branches: [], description: "a\nretry()"))

        #expect(network.outline == "a\u{FFFD}retry()\nMockTransport")
    }
}

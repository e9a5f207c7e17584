import Dispatch
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// Every kind of call decodes with the decoder of the stack.
@Suite(.timeLimit(.minutes(20)))
struct StackDecoderTests {
    private struct Person: Codable, Equatable, Sendable {
        var firstName: String
    }

    private struct People: Codable, Equatable, Sendable {
        var allPeople: [Person]
        var nextPage: String?
    }

    private let queue = DispatchQueue(label: "StackDecoderTests")
    private let emily = Person(firstName: "Emily")
    private let json = #"{"first_name":"Emily"}"#

    private func network(_ response: MockResponse) -> some NetworkingComponent {
        MockTransport { _ in response }
            .decoder(.json(keys: .convertFromSnakeCase))
            .server(authority: "a.example")
    }

    private func collect<Element>(_ sequence: some AsyncSequence<Element, any Error>) async throws -> [Element] {
        var elements: [Element] = []
        for try await element in sequence {
            elements.append(element)
        }
        return elements
    }

    /// Returns the people that a call passes to its closure until it completes without an error.
    private func people<Elements: AsyncSequence & Sendable>(
        from network: some NetworkingComponent,
        of open: @escaping @Sendable (any NetworkingComponent) async throws -> Elements
    ) async throws -> [Person] where Elements.Element == Person {
        let people = Locked<[Person]>([])
        let outcomes = Outcomes<Elements>()
        network.callback(queue: queue) {
            try await open($0)
        } onElement: { person in
            people.withLock { $0.append(person) }
        } completion: { result in
            outcomes.add(result)
        }
        #expect(try await outcomes.first().error == nil)
        return people.value
    }

    @Test func eventsAreDecoded() async throws {
        let network = network(.events(.text("data: \(json)\n\ndata: [DONE]\n\n")))
        #expect(try await collect(network.events(.get("people"), as: Person.self)) == [emily])
        let people = try await people(from: network) { try await $0.events(.get("people"), as: Person.self) }
        #expect(people == [emily])
    }

    @Test func documentsOfAStreamAreDecoded() async throws {
        let network = network(.chunks([.text("\(json)\n\(json)\n")]))
        #expect(try await collect(network.values(.get("people"), as: Person.self)) == [emily, emily])
        let people = try await people(from: network) { try await $0.values(.get("people"), as: Person.self) }
        #expect(people == [emily, emily])
    }

    @Test func responseToAnUploadIsDecoded() async throws {
        let network = network(.json(text: json))
        #expect(try await network.upload(.data(Data()), to: Request<Person>.post("people")).body == emily)
        let outcomes = Outcomes<Person>()
        network.callback(queue: queue) {
            try await $0.upload(.data(Data()), to: Request<Person>(.post("people")))
        } completion: { result in
            outcomes.add(result.map { $0.body })
        }
        #expect(try await outcomes.first().get() == emily)
    }

    @Test func callbacksAndChainsDecode() async throws {
        let network = network(.json(text: json))
        let outcomes = Outcomes<Person>()
        network.callback(queue: queue) {
            try await $0.request(.get("people/1"), as: Person.self)
        } completion: {
            outcomes.add($0)
        }
        #expect(try await outcomes.first().get() == emily)
        #expect(try await network.prepare(.get("people/1")).decode(as: Person.self).value == emily)
        #expect(try await network.prepare(Request<Person>.get("people/1")).value == emily)
        #expect(try await network.transfer(Request<Person>.get("people/1")).value.body == emily)
        #expect(await network.result(of: Request<Person>.get("people/1")).error == nil)
        for try await (person, _) in network.storedThenFresh(Request<Person>.get("people/1")) {
            #expect(person == emily)
        }
    }

    @Test func pagesAreDecoded() async throws {
        let transport = MockTransport { request in
            request.query["after"] == nil
                ? .json(text: #"{"all_people":[{"first_name":"Emily"}],"next_page":"2"}"#)
                : .json(text: #"{"all_people":[{"first_name":"Ada"}]}"#)
        }
        let network = transport.decoder(.json(keys: .convertFromSnakeCase)).server(authority: "a.example")
        let rule = PageRule<People>.cursor(query: "after") { $0.nextPage }
        let people = network.elements(Request<People>.get("people"), next: rule, of: \.allPeople)
        #expect(try await collect(people).map(\.firstName) == ["Emily", "Ada"])
    }
}

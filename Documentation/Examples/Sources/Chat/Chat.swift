import Backend
import Foundation
import Networking

/// A conversation with a language model, in the format that many providers share.
struct Conversation: Sendable {
    private let network: any NetworkingComponent
    private(set) var messages: [Message] = []

    init(at url: URL, key: String) {
        network = URLSession.shared
            .timeout(head: .seconds(30), idle: .seconds(60))
            .server(headerField: .authorization, "Bearer \(key)")
            .server(baseURL: url)
    }

    /// Asks a question, passes each token to a closure as it arrives, and returns the whole reply.
    ///
    /// The closure returns `false` to stop the reply.
    mutating func ask(_ question: String, onToken: (String) -> Bool) async throws -> String {
        messages.append(Message(role: "user", content: question))
        let prompt = Prompt(model: "example-1", messages: messages, stream: true)
        // The sequence ends with the event `[DONE]`. Leaving the loop ends the transfer.
        let chunks = try await network.events(.post("v1/chat/completions", body: .json(prompt)), as: Chunk.self)
        var reply = ""
        for try await chunk in chunks {
            guard let token = chunk.choices.first?.delta.content else { continue }
            reply += token
            if !onToken(token) { break }
        }
        messages.append(Message(role: "assistant", content: reply))
        return reply
    }
}

struct Message: Codable, Sendable {
    let role: String
    let content: String
}

struct Prompt: Encodable {
    let model: String
    let messages: [Message]
    let stream: Bool
}

/// The data of one event.
struct Chunk: Decodable, Sendable {
    let choices: [Choice]

    struct Choice: Decodable, Sendable {
        let delta: Delta
    }

    struct Delta: Decodable, Sendable {
        let content: String?
    }
}

@main
enum Chat {
    static func main() async {
        await withBackend(ChatService(key: "example-key")) { server in
            var conversation = Conversation(at: server.url, key: "example-key")
            var count = 0
            let greeting = try await conversation.ask("My name is Emily") { token in
                show(token)
                count += 1
                return true
            }
            print()
            expect(greeting == "Nice to meet you! What can I do for you today?", "the tokens make up the reply")
            expect(count == 11, "each token arrives by itself")

            let name = try await conversation.ask("What is my name?") { token in
                show(token)
                return true
            }
            print()
            expect(name == "Your name is Emily.", "the model receives the whole conversation")

            // This reply never ends. The user stops it.
            var numbers = 0
            let counting = try await conversation.ask("Count to infinity.") { token in
                show(token)
                numbers += 1
                return numbers < 5
            }
            print("… stopped")
            expect(counting == "1, 2, 3, 4, 5,", "the tokens up to the stop are kept")

            var stranger = Conversation(at: server.url, key: "another-key")
            do {
                _ = try await stranger.ask("Hello") { _ in true }
                expect(false, "an invalid key is refused")
            } catch let error as NetworkingError where error.isUnauthorized {
                print("With another key: \(error.bodyText ?? "no reason")")
            }
        }
    }

    /// Prints a token at once instead of waiting for the end of the line.
    private static func show(_ token: String) {
        print(token, terminator: "")
        fflush(nil)
    }
}

import Foundation
import Networking
import NetworkingTestServer

/// Simulates a language model that sends its reply as server-sent events, one for each token.
package struct ChatService: Service {
    private let key: String

    private struct Prompt: Decodable {
        let messages: [Message]

        struct Message: Decodable {
            let role: String
            let content: String
        }
    }

    package init(key: String) {
        self.key = key
    }

    package func script(_ server: TestServer) {
        server.route(.post, "/v1/chat/completions") { request in
            guard request.headerFields[.authorization] == "Bearer \(key)" else {
                return .json(text: #"{"error": {"message": "Incorrect API key"}}"#, status: .unauthorized)
            }
            let messages = try request.json(as: Prompt.self).messages
            return TestResponse(
                headerFields: [.contentType: "text/event-stream"],
                body: .chunks(try events(replyingTo: messages))
            )
        }
    }

    private func events(replyingTo messages: [Prompt.Message]) throws -> [TestResponse.Chunk] {
        let question = messages.last?.content ?? ""
        let name = messages.first { $0.content.hasPrefix("My name is ") }?.content.dropFirst("My name is ".count)
        let isEndless = question == "Count to infinity."
        let reply =
            if isEndless {
                (1...10).map { "\($0), " }.joined()
            } else if question == "What is my name?" {
                "Your name is \(name ?? "unknown to me")."
            } else {
                "Nice to meet you! What can I do for you today?"
            }
        let tokens = reply.split(separator: " ", omittingEmptySubsequences: false)
        var chunks = try tokens.enumerated()
            .map { index, token in
                let text = index == 0 ? String(token) : " \(token)"
                let delta = ["choices": [["delta": ["content": text]]]]
                let json = String(decoding: try JSONEncoder().encode(delta), as: UTF8.self)
                return TestResponse.Chunk("data: \(json)\n\n", delay: .milliseconds(10))
            }
        // A closed gate holds the rest of the response until the client hangs up.
        chunks.append(isEndless ? TestResponse.Chunk("", gate: Gate()) : "data: [DONE]\n\n")
        return chunks
    }
}

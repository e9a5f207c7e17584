#if TestServer
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import HTTPTypes

/// Answers the requests of one connection, one after the other.
struct Connection: Sendable {
    let socket: LoopbackSocket
    let number: Int
    let switchboard: Switchboard

    /// Serves until the client hangs up, an exchange ends the connection, or the task is cancelled.
    func serve() async {
        var inbox = Inbox(socket: socket, parser: RequestParser(connection: number, bodyLimit: switchboard.bodyLimit))
        do {
            var isOpen = true
            while isOpen, let request = try await inbox.next() {
                isOpen = await answer(switchboard.admit(request), readingAhead: &inbox)
            }
        } catch let error as MalformedRequest {
            _ = try? await send(EncodedResponse(.text(error.description, status: .badRequest), isLast: true))
        } catch {
            // The client has gone or the server stops: nobody is left to tell.
        }
        await socket.close()
        switchboard.removeConnection(number)
    }

    /// Answers one request while it reads ahead, which is how it notices a client that hangs up.
    ///
    /// - Returns: Whether the connection can take another request.
    private func answer(_ exchange: Exchange, readingAhead inbox: inout Inbox) async -> Bool {
        let reader = inbox
        let steps = await withTaskGroup { group in
            group.addTask { Step.answered(isOpen: await send(answerTo: exchange)) }
            group.addTask { Step.readAhead(await reader.readAhead()) }
            var steps: [Step] = []
            // Whichever ends first ends the other: an answer needs no watch, and a client that left needs no answer.
            for await step in group {
                group.cancelAll()
                steps.append(step)
            }
            return steps
        }
        switchboard.finish(exchange)
        var isOpen = false
        for step in steps {
            switch step {
            case .answered(let answer): isOpen = answer
            case .readAhead(let reader): inbox = reader
            }
        }
        return isOpen
    }

    private func send(answerTo exchange: Exchange) async -> Bool {
        do {
            let response = EncodedResponse(await exchange.response(), to: exchange.request)
            try await send(response) { switchboard.finish(exchange) }
            return try await end(response.ending)
        } catch {
            return false
        }
    }

    /// Does what is to become of the connection, and answers whether it can take another request.
    private func end(_ ending: EncodedResponse.Ending) async throws -> Bool {
        switch ending {
        case .next: return true
        case .close: return false
        case .reset: socket.resetAtClose()
        case .stall: try await Gate().wait()
        case .halfClose:
            socket.closeForWriting()
            try await Gate().wait()
        }
        return false
    }

    /// Sends the pieces in turn; `willEnd` runs before the last one, since the client may act as soon as it has that.
    private func send(_ response: EncodedResponse, willEnd: () -> Void = {}) async throws {
        for (index, piece) in response.pieces.enumerated() {
            try await piece.gate?.wait()
            try Task.checkCancellation()
            if piece.delay > .zero { try await Task.sleep(for: piece.delay) }
            if index == response.pieces.indices.last { willEnd() }
            try await socket.write(piece.data)
        }
    }
}

extension Connection {
    private enum Step: Sendable {
        case answered(isOpen: Bool)
        case readAhead(Inbox)
    }
}
#endif

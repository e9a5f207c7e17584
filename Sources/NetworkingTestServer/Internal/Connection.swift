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
            while isOpen, let arrival = try await inbox.next() {
                switch arrival {
                case .head(let request):
                    guard let exchange = switchboard.admit(atHead: request) else { continue }
                    isOpen = try await answer(exchange, beforeBodyIn: &inbox)
                case .complete(let request):
                    isOpen = await answer(switchboard.admit(request), readingAhead: &inbox)
                case .portion:
                    // It is only taken while an exchange is answered.
                    continue
                }
            }
        } catch let error as MalformedRequest {
            _ = try? await send(EncodedResponse(.text(error.description, status: .badRequest), isLast: true).pieces)
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

    /// Answers one request whose body is still to come; what is left of that is read when the answer is over.
    ///
    /// - Returns: Whether the connection can take another request.
    private func answer(_ exchange: Exchange, beforeBodyIn inbox: inout Inbox) async throws -> Bool {
        defer { switchboard.finish(exchange) }
        inbox.parser.streamBody()
        var answer = await exchange.response()
        let isEcho = answer.body.isEcho
        if isEcho { answer.body = .chunks([]) }
        let response = EncodedResponse(answer, to: exchange.request)
        if isEcho, let head = response.pieces.first, let end = response.pieces.dropFirst().first {
            try await send([head])
            while let portion = try await inbox.nextPortion() {
                try await socket.write(TestResponse.Chunk(portion).chunked.data)
            }
            try await send([end]) { switchboard.finish(exchange) }
            return try await self.end(response.ending)
        }
        try await send(response.pieces) { switchboard.finish(exchange) }
        let isOpen = try await end(response.ending)
        if isOpen {
            while try await inbox.nextPortion() != nil {}
        }
        return isOpen
    }

    private func send(answerTo exchange: Exchange) async -> Bool {
        do {
            let response = EncodedResponse(await exchange.response(), to: exchange.request)
            try await send(response.pieces) { switchboard.finish(exchange) }
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
    private func send(_ pieces: [TestResponse.Chunk], willEnd: () -> Void = {}) async throws {
        for (index, piece) in pieces.enumerated() {
            try await piece.gate?.wait()
            try Task.checkCancellation()
            if piece.delay > .zero { try await Task.sleep(for: piece.delay) }
            if index == pieces.indices.last { willEnd() }
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

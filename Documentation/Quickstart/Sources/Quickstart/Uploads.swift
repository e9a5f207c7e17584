import Foundation
import Networking
import NetworkingTestServer

/// Uploads from disk, with progress.
enum Uploads {
    static func show(_ server: TestServer) async throws {
        Terminal.title("12. An upload from disk reports its progress")
        Terminal.code(
            """
            let form = RequestBody.multipart([.text("Holiday", name: "title"), .file(film, name: "film")])
            let (receipt, _) = try await network.upload(form, to: Request<Film>(films)) { progress in
                bar(progress.fraction)
            }
            """
        )
        let film = FileManager.default.temporaryDirectory.appending(path: "quickstart-\(UUID()).mp4")
        try Data(count: 8 << 20).write(to: film)
        defer { try? FileManager.default.removeItem(at: film) }

        let network = URLSession.shared.instrument(Tour.instrument).server(baseURL: server.url)
        let films = HTTPRequestData(path: "films")
        let form = RequestBody.multipart([.text("Holiday", name: "title"), .file(film, name: "film")])
        let bar = Terminal.bar("film.mp4")
        let (receipt, _) = try await network.upload(form, to: Request<Film>(films)) { progress in
            bar(progress.fraction)
        }
        Terminal.say("The server got \(receipt.bytes) bytes, \(receipt.parts.prefix { $0 != ";" }).")
        try Tour.expect(Int64(receipt.bytes) == form.length, "the whole form arrives")

        do {
            try await network.upload(.file(URL(filePath: "/no/such/film.mp4")), to: films)
            try Tour.expect(false, "a missing file is an error")
        } catch let error as NetworkingError {
            Terminal.say("\(error)")
        }
    }
}

/// The demo server's receipt for an uploaded film.
struct Film: Codable {
    let parts: String
    let bytes: Int
}

import Foundation
package import Networking
import Testing

/// Expects that the file of a storage is reported as damaged and set aside when a jar is created.
package func expectDamagedFile(of storage: some CookieStorage, with content: String) async throws {
    let error = await #expect(throws: CookieStorageError.self) { try await CookieJar(in: storage) }
    guard case .damaged(let aside) = error else {
        Issue.record("not reported as damaged: \(String(describing: error))")
        return
    }
    #expect(try Data(contentsOf: aside) == Data(content.utf8))
    #expect(error?.localizedDescription == "The saved cookies could not be read.")
    #expect(error?.description.contains(aside.path) == true)
}

// The service worker of an application that lets it sync in the background.
import 'dexie-cloud-addon/service-worker'

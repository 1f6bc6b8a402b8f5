// A room, seen from a camera that stays in one place and turns. z is up;
// lengths are in metres. No two directions look alike: every wall, the floor
// and the ceiling have their own colour and objects.
//
// `poses.inc`, written by render.R, has the array Pose: nine numbers per
// frame, the camera's rotation matrix by columns. The columns are the
// directions of the camera's axes forward, left and up. All vectors of the
// camera are given, so nothing depends on POV-Ray's left-handed defaults.

#version 3.7;
global_settings { assumed_gamma 1.0 }
#include "poses.inc"

#declare P = 9 * (frame_number - 1);
camera {
  location <0.6, -0.4, 1.5>
  direction <Pose[P], Pose[P + 1], Pose[P + 2]>
  right -1.65 * <Pose[P + 3], Pose[P + 4], Pose[P + 5]>
  up 1.65 * <Pose[P + 6], Pose[P + 7], Pose[P + 8]>
}

light_source { <-0.5, 0.5, 2.6> color rgb 0.7 }
light_source { <3.2, -1, 2> color rgb <0.35, 0.32, 0.25> shadowless }
#default { finish { ambient 0.25 diffuse 0.7 } }

#macro Slab(A, B, Colour)
  box { A, B pigment { color rgb Colour } }
#end

// ---- walls, floor, ceiling ----

Slab(<4, -3, 0>, <4.1, 3, 2.8>, <0.85, 0.75, 0.5>)
Slab(<-4.1, -3, 0>, <-4, 3, 2.8>, <0.25, 0.45, 0.75>)
Slab(<-4, 3, 0>, <4, 3.1, 2.8>, <0.75, 0.3, 0.25>)
Slab(<-4, -3.1, 0>, <4, -3, 2.8>, <0.35, 0.65, 0.35>)
box {
  <-4, -3, -0.1>, <4, 3, 0>
  pigment { gradient x color_map {
    [0 color rgb <0.2, 0.12, 0.08>] [1 color rgb <0.6, 0.45, 0.3>]
  } scale 8 translate -4 * x }
}
box {
  <-4, -3, 2.8>, <4, 3, 2.9>
  pigment { gradient y color_map {
    [0 color rgb <0.95, 0.95, 0.9>] [1 color rgb <0.6, 0.6, 0.75>]
  } scale 6 translate -3 * y }
}

// ---- front (x = 4): window, sideboard, vase ----

box {
  <3.95, -0.4, 1>, <3.99, 1.2, 2.2>
  pigment { color rgb <0.7, 0.9, 1> } finish { ambient 0.95 diffuse 0 }
}
Slab(<3.3, -2.6, 0>, <3.99, -0.8, 0.8>, <0.4, 0.2, 0.1>)
sphere { <3.6, -1.7, 1.05>, 0.25 pigment { color rgb <0.8, 0.1, 0.6> } }
Slab(<3.7, 1.9, 0>, <3.99, 2.6, 2.1>, <0.1, 0.25, 0.2>)

// ---- left (y = 3): picture, sofa, lamp ----

Slab(<1, 2.95, 1.2>, <2.4, 2.99, 2.2>, <0.95, 0.85, 0.1>)
Slab(<1.4, 2.93, 1.45>, <2, 2.96, 1.95>, <0.1, 0.1, 0.5>)
Slab(<-1.8, 2.1, 0>, <0.6, 2.99, 0.5>, <0.1, 0.55, 0.55>)
Slab(<-1.8, 2.7, 0.5>, <0.6, 2.99, 1>, <0.1, 0.45, 0.5>)
cylinder { <-2.8, 2.4, 0>, <-2.8, 2.4, 1.5>, 0.06 pigment { color rgb 0.1 } }
sphere {
  <-2.8, 2.4, 1.7>, 0.3
  pigment { color rgb <1, 0.95, 0.7> } finish { ambient 0.9 diffuse 0.1 }
}

// ---- back (x = -4): shelves, door ----

Slab(<-3.99, -2.5, 0>, <-3.92, -1.3, 2.1>, <0.9, 0.9, 0.9>)
Slab(<-3.99, 0, 0>, <-3.6, 1.8, 1.9>, <0.5, 0.35, 0.2>)
Slab(<-3.62, 0.1, 0.3>, <-3.55, 0.8, 0.8>, <0.85, 0.2, 0.2>)
Slab(<-3.62, 0.9, 1.1>, <-3.55, 1.7, 1.6>, <0.95, 0.7, 0.2>)

// ---- right (y = -3): stove, mirror of steel, plant ----

Slab(<-1, -2.99, 0>, <0.3, -2.3, 1>, <0.15, 0.15, 0.2>)
cylinder { <-0.35, -2.65, 1>, <-0.35, -2.65, 2.8>, 0.14
  pigment { color rgb 0.3 } }
Slab(<1.4, -2.97, 0.9>, <2.4, -2.99, 2.1>, <0.8, 0.8, 0.85>)
cone { <-2.6, -2.4, 0.4>, 0.5, <-2.6, -2.4, 1.8>, 0
  pigment { color rgb <0.05, 0.35, 0.1> } }
cylinder { <-2.6, -2.4, 0>, <-2.6, -2.4, 0.4>, 0.25
  pigment { color rgb <0.7, 0.35, 0.15> } }

// ---- floor and ceiling ----

cylinder { <0.8, 0.3, 0>, <0.8, 0.3, 0.01>, 1.2
  pigment { color rgb <0.7, 0.15, 0.2> } }
Slab(<-2.6, -0.8, 0>, <-1.2, 0.6, 0.7>, <0.8, 0.6, 0.35>)
cylinder { <-0.5, 0.5, 2.7>, <-0.5, 0.5, 2.79>, 0.4
  pigment { color rgb 1 } finish { ambient 1 diffuse 0 } }
Slab(<2, -1.4, 2.75>, <2.3, 2.6, 2.79>, <0.45, 0.3, 0.2>)
